//! The life of a tool against a small model, written from DESIGN 6 and RELIABILITY and not from the code.
//!
//! The model knows one tool at a time, counts plainly and sweeps heat eagerly. Health and trust are two axes: it keeps
//! apart where a tool stands and which edition of it is served or waits. Random events go to both; after each the states,
//! editions and heats must agree, and in the end a namespace recovered from the log must be the one that lived it.

use proptest::prelude::*;
use proptest::test_runner::{RngAlgorithm, TestRng, TestRunner};

use super::support::{Crib, SUBJECTS, check_all, id_of, tools};
use crate::core::admission::Checked;
use crate::core::event::{Ending, ToolAction, ToolState, Word};
use crate::core::ids::{Generation, StepId, UnixMillis};

const N_TOOLS: usize = 6;
/// Tools that are there from the start; the others come when they are listed, perhaps while definitions are pinned.
const N_AT_START: usize = 4;
/// Wordings in which each tool may be listed.
const N_EDITIONS: usize = 3;
const EVENTS_A_CASE: usize = 200;
const CASES: u32 = 500;
const SEED: [u8; 32] = *b"a life of a tool, told by chance";

const HOUR: i64 = 3_600_000;

#[derive(Clone, Debug)]
enum Happening {
    /// A call of a tool by a session, in a new step or the one before.
    Call { tool: usize, session: usize, in_new_step: bool, is_retry: bool, ending: Ending },
    /// An operator does something.
    Operate { tool: usize, action: ToolAction },
    /// The source lists all tools but this one, in an edition; past the end it lists them all.
    List { without: usize, edition: usize },
    /// A tool alone is registered in an edition.
    Register { tool: usize, edition: usize },
    /// Somebody approves what waits of a tool.
    Approve { tool: usize },
    /// From now on definitions are pinned, or no longer.
    PinDefinitions { on: bool },
    /// Time passes, in seconds.
    Pass { secs: u64 },
}

fn happening() -> impl Strategy<Value = Happening> {
    // A third of the tools gets most calls, so that streaks come about.
    let tool = || prop_oneof![3 => 0..2_usize, 1 => 0..N_TOOLS];
    let ending = prop_oneof![
        4 => prop::sample::select(vec![Ending::Auth, Ending::Timeout, Ending::Transport, Ending::ServerError]),
        4 => Just(Ending::Ok),
        1 => prop::sample::select(Ending::ALL.to_vec()),
    ];
    let call = (tool(), 0..2_usize, prop::bool::weighted(0.7), prop::bool::weighted(0.1), ending).prop_map(
        |(tool, session, in_new_step, is_retry, ending)| Happening::Call {
            tool,
            session,
            in_new_step,
            is_retry,
            ending,
        },
    );
    let actions = vec![ToolAction::Retire, ToolAction::Restore, ToolAction::Quarantine, ToolAction::Repair];
    let operate =
        (tool(), prop::sample::select(actions)).prop_map(|(tool, action)| Happening::Operate { tool, action });
    let pass = prop::sample::select(vec![0, 1, 30, 60, 61, 599, 8 * 3_600, 86_400]);
    prop_oneof![
        30 => call,
        3 => operate,
        2 => (0..N_TOOLS * 2, 0..N_EDITIONS).prop_map(|(without, edition)| Happening::List { without, edition }),
        2 => (0..N_TOOLS, 0..N_EDITIONS).prop_map(|(tool, edition)| Happening::Register { tool, edition }),
        2 => (0..N_TOOLS).prop_map(|tool| Happening::Approve { tool }),
        1 => prop::bool::ANY.prop_map(|on| Happening::PinDefinitions { on }),
        4 => pass.prop_map(|secs| Happening::Pass { secs }),
    ]
}

/// One tool as the pages describe it.
#[derive(Clone, Debug)]
struct Model {
    /// Whether it was ever registered.
    is_known: bool,
    /// The edition that was approved, or needed no approval.
    served: Option<usize>,
    /// The edition that waits.
    waiting: Option<usize>,
    state: ToolState,
    /// Countable failures since the last success or the last new start.
    streak: u32,
    /// Batches with a failure since the last success: session and step.
    failed_batches: Vec<(usize, u64)>,
    /// Successes since probation began.
    successes: u32,
    quarantined_at: Vec<i64>,
    backoff_ends: i64,
    before_withdrawal: ToolState,
    heat: f64,
}

impl Model {
    fn new(is_known: bool) -> Self {
        Self {
            is_known,
            served: is_known.then_some(0),
            waiting: None,
            state: ToolState::Active,
            streak: 0,
            failed_batches: Vec::new(),
            successes: 0,
            quarantined_at: Vec::new(),
            backoff_ends: 0,
            before_withdrawal: ToolState::Active,
            heat: 0.0,
        }
    }

    /// Begins anew in a state: what failed before is settled.
    fn start(&mut self, state: ToolState) {
        (self.state, self.streak, self.successes) = (state, 0, 0);
    }

    /// Goes out after failures: the third time within 24 hours for an operator to look at.
    fn break_down(&mut self, now: i64) {
        let n_recent = self.quarantined_at.iter().filter(|past| now - **past < 24 * HOUR).count();
        self.state = if n_recent >= 2 { ToolState::Held } else { ToolState::Quarantined };
        self.quarantined_at.push(now);
        self.backoff_ends = now + 60_000;
    }

    fn end_call(&mut self, now: i64, ending: Ending, batch: (usize, u64)) {
        match ending {
            Ending::Ok => {
                self.streak = 0;
                self.failed_batches.clear();
                self.successes += 1;
            }
            Ending::Auth | Ending::Timeout | Ending::Transport | Ending::ServerError => {
                if self.failed_batches.contains(&batch) {
                    return;
                }
                self.failed_batches.push(batch);
                self.streak += 1;
            }
            _ => return,
        }
        match self.state {
            ToolState::Active if self.streak >= 3 => self.break_down(now),
            ToolState::Probation if self.streak >= 1 => self.break_down(now),
            ToolState::Probation if self.successes >= 10 => self.start(ToolState::Active),
            _ => {}
        }
    }

    /// Returns whether the action was possible.
    fn operate(&mut self, now: i64, action: ToolAction) -> bool {
        use ToolState::{Active, Held, Probation, Quarantined, Retired};
        match (action, self.state) {
            (ToolAction::Retire, state) if state != Retired => self.state = Retired,
            (ToolAction::Restore, Retired) if self.served.is_none() => self.state = ToolState::Pending,
            (ToolAction::Restore, Retired) => self.start(Active),
            (ToolAction::Quarantine, Active | Probation) => {
                self.state = Quarantined;
                self.quarantined_at.push(now);
                self.backoff_ends = i64::MAX;
            }
            (ToolAction::Repair, Quarantined | Held) => self.start(Probation),
            _ => return false,
        }
        true
    }

    /// Its source lists it, in an edition.
    fn be_listed(&mut self, edition: usize, is_pinned: bool) {
        if self.served == Some(edition) {
            self.waiting = None;
        } else if self.waiting != Some(edition) {
            if is_pinned {
                self.waiting = Some(edition);
            } else {
                (self.served, self.waiting) = (Some(edition), None);
            }
        }
        if !self.is_known {
            self.is_known = true;
            self.state = if self.served.is_some() { ToolState::Active } else { ToolState::Pending };
            return;
        }
        match self.state {
            ToolState::Withdrawn if self.served.is_none() => self.state = ToolState::Pending,
            ToolState::Withdrawn => match self.before_withdrawal {
                ToolState::Active | ToolState::Pending => self.start(ToolState::Active),
                ToolState::Probation => self.start(ToolState::Probation),
                back => self.state = back,
            },
            ToolState::Pending if self.served.is_some() => self.start(ToolState::Active),
            _ => {}
        }
    }

    /// Its source lists others and not this one.
    fn be_left_out(&mut self) {
        match self.state {
            _ if !self.is_known => {}
            ToolState::Withdrawn | ToolState::Retired => {}
            state => (self.before_withdrawal, self.state) = (state, ToolState::Withdrawn),
        }
    }

    /// Returns whether there was anything to approve.
    fn be_approved(&mut self) -> bool {
        let Some(edition) = self.waiting.take() else { return false };
        self.served = Some(edition);
        if self.state == ToolState::Pending {
            self.start(ToolState::Active);
        }
        true
    }

    fn pass(&mut self, now: i64) {
        if self.state == ToolState::Quarantined && self.backoff_ends <= now {
            self.start(ToolState::Probation);
        }
    }
}

/// All models, and what they share.
struct World {
    models: Vec<Model>,
    is_pinned: bool,
    steps: [u64; 2],
}

impl World {
    /// Lets the same happen to the models and to the namespace.
    fn happen(&mut self, crib: &mut Crib, editions: &[Vec<Checked>], happening: &Happening) {
        match *happening {
            Happening::Call { tool, .. } | Happening::Operate { tool, .. } if !self.models[tool].is_known => {}
            Happening::Call { tool, session, in_new_step, is_retry, ending } => {
                self.steps[session] += u64::from(in_new_step);
                let batch = (session, self.steps[session]);
                let step = StepId { generation: Generation(1), number: batch.1 };
                let mut outcome = crib.outcome(["a", "b"][session], Some(step), &id_of(SUBJECTS[tool]), ending);
                outcome.retry_of = is_retry.then(|| "before".into());
                crib.report(outcome);
                if ending == Ending::NotRun {
                    return;
                }
                if !is_retry {
                    self.tick(tool);
                }
                self.models[tool].end_call(crib.now.0, ending, batch);
            }
            Happening::Operate { tool, action } => {
                let was_possible = crib.change(&id_of(SUBJECTS[tool]), action).is_ok();
                assert_eq!(was_possible, self.models[tool].operate(crib.now.0, action));
            }
            Happening::List { without, edition } => {
                let mut list = editions[edition].clone();
                if without < N_TOOLS {
                    list.remove(without);
                }
                crib.list_checked(&list, &["s"]);
                for (tool, model) in self.models.iter_mut().enumerate() {
                    if tool == without {
                        model.be_left_out();
                    } else {
                        model.be_listed(edition, self.is_pinned);
                    }
                }
            }
            Happening::Register { tool, edition } => {
                crib.list_checked(&editions[edition][tool..=tool], &[]);
                self.models[tool].be_listed(edition, self.is_pinned);
            }
            Happening::Approve { tool } => {
                let id = id_of(SUBJECTS[tool]);
                let hash = self.models[tool].waiting.map(|edition| editions[edition][tool].hash);
                let was_possible = crib.change_quoting(&id, ToolAction::Approve, hash).is_ok();
                assert_eq!(was_possible, self.models[tool].be_approved());
            }
            Happening::PinDefinitions { on } => {
                crib.set("admission.pin_definitions", if on { "true" } else { "false" });
                self.is_pinned = on;
            }
            Happening::Pass { secs } => {
                crib.pass(secs);
                for model in &mut self.models {
                    model.pass(crib.now.0);
                }
            }
        }
    }

    /// Ages every heat that does not stand still, and adds the call.
    fn tick(&mut self, called: usize) {
        for model in &mut self.models {
            if model.state == ToolState::Active {
                model.heat *= 0.95;
            }
        }
        self.models[called].heat += 1.0;
    }

    fn assert_agrees(&self, crib: &Crib, editions: &[Vec<Checked>]) {
        for (tool, model) in self.models.iter().enumerate() {
            let id = id_of(SUBJECTS[tool]);
            let Some(entry) = crib.ns.registry().get(&id) else {
                assert!(!model.is_known, "{id}: {model:?}");
                continue;
            };
            assert_eq!(crib.state(&id), model.state, "{id}: {model:?}");
            let hash_of = |edition: Option<usize>| edition.map(|edition| editions[edition][tool].hash);
            let trust = [entry.current(), entry.waiting()].map(|shown| shown.map(|shown| shown.admitted().hash));
            assert_eq!(trust, [hash_of(model.served), hash_of(model.waiting)], "{id}: {model:?}");
            assert!(entry.current().is_some() || !model.state.is_issuable(), "{id} is issuable and nobody approved it");
            let off = crib.ns.heat_key(&id) as f64 - model.heat * f64::from(1 << 30);
            assert!(off.abs() <= 1.0, "{id}: heat is off by {off} parts");
        }
        for member in crib.ns.pool().members() {
            assert_eq!(crib.state(member), ToolState::Active);
        }
        assert!(crib.ns.next_deadline().is_none_or(|deadline| deadline > UnixMillis(0)));
    }
}

#[test]
fn lives_agree_with_the_model_over_a_hundred_thousand_events() {
    eprintln!("seed {:?}, {CASES} cases of {EVENTS_A_CASE} events", String::from_utf8_lossy(&SEED));
    let all = tools(N_TOOLS);
    let mut editions = Vec::new();
    for edition in 0..N_EDITIONS {
        let mut reworded = all.clone();
        for tool in &mut reworded {
            tool.description.push_str(&"!".repeat(edition));
        }
        editions.push(check_all(&reworded));
    }
    let config = ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(CASES) };
    let mut runner = TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &SEED));
    let histories = prop::collection::vec(happening(), EVENTS_A_CASE);
    let told = runner.run(&histories, |history| {
        let mut crib = Crib::new(&all[..N_AT_START]);
        crib.set("session.idle_secs", "604800");
        crib.set("hot_pool.slots", "2");
        crib.open("a");
        crib.open("b");
        let models = (0..N_TOOLS).map(|tool| Model::new(tool < N_AT_START)).collect();
        let mut world = World { models, is_pinned: false, steps: [0; 2] };
        for happening in &history {
            world.happen(&mut crib, &editions, happening);
            world.assert_agrees(&crib, &editions);
        }
        crib.assert_recovers();
        Ok(())
    });
    told.unwrap();
}

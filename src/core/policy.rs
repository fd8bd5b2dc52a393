//! Every tunable of a namespace, already checked, each with its default, range, unit and reason.
//!
//! Read at the next call: nothing is copied out of a policy and kept. Knows nothing above it. Add a tunable in three
//! places: the struct, its default, and its line in [`KEYS`]; `policy get` and the reference are made from that line.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// How the hot pool is chosen. A closed set; more exist in replay only.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PoolPolicy {
    /// By heat, the exponentially decayed call count.
    Ewma,
    /// By last use; a tool that is not resident enters at once.
    Lru,
    /// Seeded and pinned tools, whatever is called.
    Static,
}

/// What a registration without `when_to_use` gets. Import derives it where it can and marks it; there the mark is
/// enough, whatever the rule.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WhenRule {
    /// It is refused.
    Require,
    /// It is admitted with a warning.
    Flag,
}

/// What becomes of a definition with a flag on it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FlagRule {
    /// It is admitted, and marked.
    Flag,
    /// It waits until an operator approves it.
    Pending,
    /// It is refused.
    Refuse,
}

/// What becomes of flagged definitions, by group of rules.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct FlagRules {
    /// Text whose looks differ from what it says.
    pub characters: FlagRule,
    /// Names that pass for another source's.
    pub names: FlagRule,
    /// Text that steers the model.
    pub phrases: FlagRule,
    /// Text that leads elsewhere, or cannot be read.
    pub links: FlagRule,
    /// Text that is there for the rank.
    pub rank: FlagRule,
}

impl Default for FlagRules {
    fn default() -> Self {
        let flag = FlagRule::Flag;
        Self { characters: flag, names: flag, phrases: flag, links: flag, rank: flag }
    }
}

/// What the log keeps of a step's query.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum QueryRetention {
    /// Nothing.
    Off,
    /// Keyed hashes of its stems.
    Terms,
    /// Its text.
    Full,
}

/// The hot pool.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct HotPoolPolicy {
    /// How it is chosen.
    pub policy: PoolPolicy,
    /// How many tools are resident.
    pub slots: u32,
    /// Ticks from one re-rank to the next.
    pub every: u32,
    /// What a tick leaves of a tool's heat.
    pub decay: f64,
}

/// What a step may issue.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct PlanPolicy {
    /// M: most definitions issued for one step.
    pub top_m: u32,
    /// Share of the window that on-demand definitions may hold.
    pub budget_share: f64,
    /// Most definitions that one `request_tool` issues.
    pub recall_limit: u32,
    /// How many of a session's last calls are put back once they are no longer present.
    pub reissue_calls: u32,
    /// Share of a tool's score below which a confusable tool of another source is not issued beside it; 0 for never.
    #[serde(default = "default_confusable_share")]
    pub confusable_share: f64,
}

/// See `docs/decisions/confusable-tools.md`.
fn default_confusable_share() -> f64 {
    0.5
}

/// Sessions and their blocks.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct SessionPolicy {
    /// Context window in tokens where the runtime names none.
    pub default_window: u32,
    /// Seconds without a request after which a session ends.
    pub idle_secs: u32,
    /// Most sessions open at once.
    pub max_open: u32,
    /// At most so many tools are sent whole and nothing is retrieved.
    pub pass_through_tools: u32,
    /// Tools that fit in this share of the window are sent whole.
    pub pass_through_share: f64,
}

/// The directory.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct DirectoryPolicy {
    /// Share of the window it may take.
    pub share: f64,
    /// Most tokens it may take, whatever the window.
    pub max_tokens: u32,
    /// Most tokens of one line.
    pub line_tokens: u32,
}

/// What is admitted.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct AdmissionPolicy {
    /// How far a size estimate may be off, as a share of the measured size.
    pub size_tolerance: f64,
    /// What a registration without `when_to_use` gets.
    pub when: WhenRule,
    /// Words by which a summary says when to use a tool.
    pub when_words: Vec<String>,
    /// What becomes of flagged definitions.
    #[serde(default)]
    pub flags: FlagRules,
    /// Whether new and changed definitions wait until an operator approves them.
    #[serde(default)]
    pub pin_definitions: bool,
    /// Most bytes of a whole definition.
    pub definition_bytes: u32,
    /// Most bytes of a description.
    pub description_bytes: u32,
    /// Most bytes of an input schema.
    pub schema_bytes: u32,
    /// Deepest nesting of a schema.
    pub schema_depth: u32,
    /// Most nodes of a schema.
    pub schema_nodes: u32,
    /// Most nodes once local references are followed.
    pub schema_expansion: u32,
}

/// The life of a tool.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct LifePolicy {
    /// Countable failures in a row that quarantine a tool.
    pub failures: u32,
    /// Seconds until a quarantined tool is tried again.
    pub backoff_secs: u32,
    /// Successes in probation that make a tool active again.
    pub probation_successes: u32,
    /// Quarantines within 24 hours after which a tool waits for an operator.
    pub held_after: u32,
}

/// What is kept of traffic.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct LearnPolicy {
    /// What the log keeps of a step's query.
    pub queries: QueryRetention,
    /// Days after which kept queries are dropped.
    pub query_days: u32,
}

/// How much is kept of the log.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct LogPolicy {
    /// Days after which traffic is cut from the log; 0 for never.
    pub retain_days: u32,
    /// Mebibytes of events beyond which the oldest traffic is cut; 0 for no bound.
    pub retain_mib: u32,
}

impl Default for LogPolicy {
    fn default() -> Self {
        Self { retain_days: 30, retain_mib: 10_240 }
    }
}

/// Everything that can be tuned in a namespace.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Policy {
    /// The hot pool.
    pub hot_pool: HotPoolPolicy,
    /// What a step may issue.
    pub plan: PlanPolicy,
    /// Sessions and their blocks.
    pub session: SessionPolicy,
    /// The directory.
    pub directory: DirectoryPolicy,
    /// What is admitted.
    pub admission: AdmissionPolicy,
    /// The life of a tool.
    pub life: LifePolicy,
    /// What is kept of traffic.
    pub learn: LearnPolicy,
    /// How much is kept of the log.
    #[serde(default)]
    pub log: LogPolicy,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            hot_pool: HotPoolPolicy { policy: PoolPolicy::Ewma, slots: 10, every: 10, decay: 0.95 },
            plan: PlanPolicy {
                top_m: 8,
                budget_share: 0.10,
                recall_limit: 8,
                reissue_calls: 8,
                confusable_share: default_confusable_share(),
            },
            session: SessionPolicy {
                default_window: 200_000,
                idle_secs: 1800,
                max_open: 10_000,
                pass_through_tools: 10,
                pass_through_share: 0.10,
            },
            directory: DirectoryPolicy { share: 0.10, max_tokens: 8_000, line_tokens: 45 },
            admission: AdmissionPolicy {
                size_tolerance: 0.30,
                when: WhenRule::Require,
                when_words: ["when", "if", "before", "after", "for", "to", "时", "当", "用于"]
                    .map(String::from)
                    .to_vec(),
                flags: FlagRules::default(),
                pin_definitions: false,
                definition_bytes: 64 * 1024,
                description_bytes: 8 * 1024,
                schema_bytes: 32 * 1024,
                schema_depth: 16,
                schema_nodes: 2_000,
                schema_expansion: 20_000,
            },
            life: LifePolicy { failures: 3, backoff_secs: 60, probation_successes: 10, held_after: 3 },
            learn: LearnPolicy { queries: QueryRetention::Terms, query_days: 30 },
            log: LogPolicy::default(),
        }
    }
}

/// One tunable: how it is named, what it may be, why its default is what it is, and how it is read and written.
pub struct Key {
    /// Dotted name, as `policy set` takes it.
    pub name: &'static str,
    /// What is accepted.
    pub accepts: &'static str,
    /// The unit, empty for plain choices.
    pub unit: &'static str,
    /// What it does, and the reason for its default.
    pub reason: &'static str,
    get: fn(&Policy) -> String,
    set: fn(&mut Policy, &str) -> bool,
}

impl Key {
    /// Returns the value as text.
    pub fn get(&self, policy: &Policy) -> String {
        (self.get)(policy)
    }
}

/// Makes a [`Key`] of a number within a range.
macro_rules! number {
    ($name:literal, $($field:ident).+, $range:expr, $accepts:literal, $unit:literal, $reason:literal) => {
        Key {
            name: $name,
            accepts: $accepts,
            unit: $unit,
            reason: $reason,
            get: |policy| policy.$($field).+.to_string(),
            set: |policy, text| match text.parse() {
                Ok(value) if ($range).contains(&value) => {
                    policy.$($field).+ = value;
                    true
                }
                _ => false,
            },
        }
    };
}

/// Makes a [`Key`] of a choice between the words of an enum.
macro_rules! choice {
    ($name:literal, $($field:ident).+, $accepts:literal, $reason:literal) => {
        Key {
            name: $name,
            accepts: $accepts,
            unit: "",
            reason: $reason,
            get: |policy| match serde_json::to_value(&policy.$($field).+) {
                Ok(serde_json::Value::String(word)) => word,
                _ => String::new(),
            },
            set: |policy, text| match serde_json::from_value(serde_json::Value::from(text)) {
                Ok(value) => {
                    policy.$($field).+ = value;
                    true
                }
                Err(_) => false,
            },
        }
    };
}

/// Every tunable, in the order of the reference.
pub const KEYS: &[Key] = &[
    choice!(
        "hot_pool.policy",
        hot_pool.policy,
        "ewma | lru | static",
        "How the hot pool is chosen; ewma keeps a one-off call from pushing out a regular."
    ),
    number!(
        "hot_pool.slots",
        hot_pool.slots,
        1..=512,
        "1..=512",
        "tools",
        "Resident tools; ten definitions cost about what one retrieval does."
    ),
    number!(
        "hot_pool.every",
        hot_pool.every,
        1..=10_000,
        "1..=10000",
        "ticks",
        "Ticks between re-ranks; fewer means more changes for new sessions."
    ),
    number!(
        "hot_pool.decay",
        hot_pool.decay,
        0.0..=0.999_999,
        "0.0..=0.999999",
        "factor a tick",
        "What a tick leaves of heat; 0.95 remembers about 20 calls. 0 remembers the last call only."
    ),
    number!(
        "plan.top_m",
        plan.top_m,
        0..=64,
        "0..=64",
        "tools",
        "Most definitions issued for one step; beyond eight few needed tools are found. 0 leaves recall as the only way."
    ),
    number!(
        "plan.budget_share",
        plan.budget_share,
        0.0..=0.9,
        "0.0..=0.9",
        "share of the window",
        "Bounds what on-demand definitions may hold in a context, so that savings do not decay."
    ),
    number!(
        "plan.recall_limit",
        plan.recall_limit,
        1..=64,
        "1..=64",
        "tools",
        "Most definitions that one request_tool issues; as many as a step, since it is the same search."
    ),
    number!(
        "plan.reissue_calls",
        plan.reissue_calls,
        0..=64,
        "0..=64",
        "calls",
        "A compaction drops definitions; the tools of so many last calls are put back first."
    ),
    number!(
        "plan.confusable_share",
        plan.confusable_share,
        0.0..=1.0,
        "0.0..=1.0",
        "share of the score",
        "A tool that a model may take for another source's is not issued beside it where its score is below this share; \
         0 always issues both. From 0.6 on it costs recall."
    ),
    number!(
        "session.default_window",
        session.default_window,
        1_000..=10_000_000,
        "1000..=10000000",
        "tokens",
        "Context window where the runtime names none, so that shares always have a denominator."
    ),
    number!(
        "session.idle_secs",
        session.idle_secs,
        10..=604_800,
        "10..=604800",
        "seconds",
        "A session unheard of for so long ends; half an hour outlasts a person's pause and bounds what is forgotten."
    ),
    number!(
        "session.max_open",
        session.max_open,
        1..=1_000_000,
        "1..=1000000",
        "sessions",
        "Bounds memory; the next OpenSession is shed."
    ),
    number!(
        "session.pass_through_tools",
        session.pass_through_tools,
        0..=512,
        "0..=512",
        "tools",
        "So few tools are sent whole: narrowing them saves nothing."
    ),
    number!(
        "session.pass_through_share",
        session.pass_through_share,
        0.0..=1.0,
        "0.0..=1.0",
        "share of the window",
        "Tools that fit in this share are sent whole: the directory might take as much."
    ),
    number!(
        "directory.share",
        directory.share,
        0.0..=0.9,
        "0.0..=0.9",
        "share of the window",
        "Most of the window that the directory may take, so that a small window is left to the conversation."
    ),
    number!(
        "directory.max_tokens",
        directory.max_tokens,
        0..=100_000,
        "0..=100000",
        "tokens",
        "Most tokens of the directory whatever the window; about 180 lines, paid again at every step."
    ),
    number!(
        "directory.line_tokens",
        directory.line_tokens,
        10..=400,
        "10..=400",
        "tokens",
        "Most tokens of one directory line, cut at a word; 45 hold what a tool does and when to use it."
    ),
    number!(
        "admission.size_tolerance",
        admission.size_tolerance,
        0.0..=10.0,
        "0.0..=10.0",
        "share",
        "How far a size estimate may be off the measured size; it leaves room for another tokenizer."
    ),
    choice!(
        "admission.when",
        admission.when,
        "require | flag",
        "A tool whose line does not say when to use it is picked wrongly."
    ),
    Key {
        name: "admission.when_words",
        accepts: "1..=64 words, separated by commas",
        unit: "words",
        reason: "Words by which a summary counts as saying when to use the tool.",
        get: |policy| policy.admission.when_words.join(","),
        set: |policy, text| {
            let words: Vec<String> =
                text.split(',').map(str::trim).filter(|word| !word.is_empty()).map(String::from).collect();
            let fits = (1..=64).contains(&words.len());
            if fits {
                policy.admission.when_words = words;
            }
            fits
        },
    },
    choice!(
        "admission.flags.characters",
        admission.flags.characters,
        "flag | pending | refuse",
        "Text whose looks differ from what it says: mixed scripts, odd spaces and joiners, piled marks, long blank runs."
    ),
    choice!(
        "admission.flags.names",
        admission.flags.names,
        "flag | pending | refuse",
        "Names and sources like another's up to case, separators and look-alike characters; honest servers have them too."
    ),
    choice!(
        "admission.flags.phrases",
        admission.flags.phrases,
        "flag | pending | refuse",
        "Orders to the model, marks of roles, parameters for its notes, other sources' tools named; triage, so a flag."
    ),
    choice!(
        "admission.flags.links",
        admission.flags.links,
        "flag | pending | refuse",
        "URLs and encoded blobs; honest tools have them too."
    ),
    choice!(
        "admission.flags.rank",
        admission.flags.rank,
        "flag | pending | refuse",
        "Text that is there for the rank: praise before other tools, a word or keyword over and over."
    ),
    Key {
        name: "admission.pin_definitions",
        accepts: "true | false",
        unit: "",
        reason: "Whether a new or changed definition waits for `tool approve`; what was approved stays served. Off, \
                 because it asks for a person.",
        get: |policy| policy.admission.pin_definitions.to_string(),
        set: |policy, text| text.parse().map(|is_on| policy.admission.pin_definitions = is_on).is_ok(),
    },
    number!(
        "admission.definition_bytes",
        admission.definition_bytes,
        1_024..=1_048_576,
        "1024..=1048576",
        "bytes",
        "Most bytes of a whole definition; as many are some 16,000 tokens already."
    ),
    number!(
        "admission.description_bytes",
        admission.description_bytes,
        64..=262_144,
        "64..=262144",
        "bytes",
        "Most bytes of a description; longer ones belong into documentation."
    ),
    number!(
        "admission.schema_bytes",
        admission.schema_bytes,
        64..=524_288,
        "64..=524288",
        "bytes",
        "Most bytes of an input schema; far above what honest tools have, and quick to compile."
    ),
    number!(
        "admission.schema_depth",
        admission.schema_depth,
        2..=64,
        "2..=64",
        "levels",
        "Deepest nesting of a schema; a stack overflow cannot be caught."
    ),
    number!(
        "admission.schema_nodes",
        admission.schema_nodes,
        10..=20_000,
        "10..=20000",
        "nodes",
        "Most nodes of a schema; keeps compiling under 100 ms."
    ),
    number!(
        "admission.schema_expansion",
        admission.schema_expansion,
        10..=200_000,
        "10..=200000",
        "nodes",
        "Most nodes once local references are followed; stops reference bombs."
    ),
    number!(
        "life.failures",
        life.failures,
        1..=100,
        "1..=100",
        "failures",
        "Countable failures in a row that quarantine a tool; one or two may be chance."
    ),
    number!(
        "life.backoff_secs",
        life.backoff_secs,
        1..=86_400,
        "1..=86400",
        "seconds",
        "Until a quarantined tool is tried again without a repair; long enough for a server to restart."
    ),
    number!(
        "life.probation_successes",
        life.probation_successes,
        1..=1_000,
        "1..=1000",
        "successes",
        "Successes in probation that make a tool active again; one or two may be luck."
    ),
    number!(
        "life.held_after",
        life.held_after,
        1..=100,
        "1..=100",
        "quarantines",
        "Quarantines within 24 hours after which a tool waits for an operator: waiting has not mended it."
    ),
    choice!(
        "learn.queries",
        learn.queries,
        "off | terms | full",
        "What is kept of a step's query: keyed hashes of stems by default, because its text needs consent."
    ),
    number!(
        "learn.query_days",
        learn.query_days,
        1..=365,
        "1..=365",
        "days",
        "Kept queries are dropped after so long: a month is enough to learn from, and no archive."
    ),
    number!(
        "log.retain_days",
        log.retain_days,
        0..=3_650,
        "0..=3650",
        "days",
        "Traffic is cut from the log after so long, 0 for never; a month is what a figure is compared with. What \
         happened to tools and to the policy stays."
    ),
    number!(
        "log.retain_mib",
        log.retain_mib,
        0..=1_048_576,
        "0..=1048576",
        "MiB",
        "The oldest traffic is cut while events hold more, 0 for no bound: a disk is full before anybody looks."
    ),
];

/// One value that a policy cannot take.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{key} = {value}: {wanted}")]
pub struct PolicyViolation {
    /// The key as given.
    pub key: String,
    /// The value as given.
    pub value: String,
    /// What would be accepted, as a clause: `must be 1..=512`.
    pub wanted: String,
}

impl Policy {
    /// Returns this policy with the values set, or every value that cannot be taken. An empty value goes back to the
    /// default.
    pub fn with(&self, values: &BTreeMap<String, String>) -> Result<Self, Vec<PolicyViolation>> {
        let defaults = Self::default();
        let mut changed = self.clone();
        let mut violations = Vec::new();
        for (name, value) in values {
            let Some(key) = KEYS.iter().find(|key| key.name == name) else {
                violations.push(PolicyViolation {
                    key: name.clone(),
                    value: value.clone(),
                    wanted: "no such key; `policy get` lists them".into(),
                });
                continue;
            };
            let text = if value.is_empty() { key.get(&defaults) } else { value.clone() };
            if !(key.set)(&mut changed, &text) {
                violations.push(PolicyViolation {
                    key: name.clone(),
                    value: value.clone(),
                    wanted: format!("must be {}", key.accepts),
                });
            }
        }
        if violations.is_empty() { Ok(changed) } else { Err(violations) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(key: &str, value: &str) -> Result<Policy, Vec<PolicyViolation>> {
        Policy::default().with(&BTreeMap::from([(key.to_owned(), value.to_owned())]))
    }

    #[test]
    fn every_key_takes_its_own_default() {
        let defaults = Policy::default();
        for key in KEYS {
            let policy = set(key.name, &key.get(&defaults)).unwrap();
            assert_eq!(policy, defaults, "{}", key.name);
        }
    }

    /// A choice has no unit; everything else says what it counts.
    #[test]
    fn every_key_says_what_it_takes_in_which_unit_and_why() {
        let defaults = Policy::default();
        for key in KEYS {
            let is_choice = key.accepts.contains(" | ");
            assert!(!key.get(&defaults).is_empty() && !key.accepts.is_empty(), "{}", key.name);
            assert_eq!(key.unit.is_empty(), is_choice, "{}", key.name);
            let words = key.reason.split_whitespace().count();
            assert!(words >= 5 && key.reason.ends_with('.'), "{}: {}", key.name, key.reason);
            assert!(key.name.split('.').all(|part| part.chars().all(|c| c.is_ascii_lowercase() || c == '_')));
        }
    }

    #[test]
    fn a_bad_value_names_the_key_and_what_is_accepted() {
        let violations = set("hot_pool.slots", "0").unwrap_err();
        assert_eq!(violations[0].to_string(), "hot_pool.slots = 0: must be 1..=512");
    }

    #[test]
    fn all_bad_values_are_named_at_once_and_nothing_is_taken() {
        let values = BTreeMap::from([
            ("hot_pool.decay".to_owned(), "1.0".to_owned()),
            ("hot_pool.slots".to_owned(), "20".to_owned()),
            ("no.such".to_owned(), "1".to_owned()),
        ]);
        let violations = Policy::default().with(&values).unwrap_err();
        assert_eq!(violations.iter().map(|v| v.key.as_str()).collect::<Vec<_>>(), ["hot_pool.decay", "no.such"]);
    }

    #[test]
    fn not_a_number_is_not_a_decay() {
        assert!(set("hot_pool.decay", "NaN").is_err());
    }

    #[test]
    fn an_empty_value_restores_the_default() {
        let changed = set("plan.top_m", "3").unwrap();
        let back = changed.with(&BTreeMap::from([("plan.top_m".to_owned(), String::new())])).unwrap();
        assert_eq!(back, Policy::default());
    }
}

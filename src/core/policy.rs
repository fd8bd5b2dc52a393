//! Every tunable of a namespace, already checked, each with its default, range, unit and reason.
//!
//! Read at the next call: nothing is copied out of a policy and kept. Knows the words of the log and nothing else. Add a tunable in three
//! places: the struct, its default, and its line in [`KEYS`] (`policy/keys.rs`).

mod deliveries;
mod keys;

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

pub use deliveries::Deliveries;
pub use keys::{KEYS, Key};

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
    /// Share of those tokens that steps leave for what the model itself asks for.
    #[serde(default = "default_recall_reserve")]
    pub recall_reserve: f64,
    /// Most definitions that one `request_tool` issues.
    pub recall_limit: u32,
    /// How many of a session's last calls are put back once they are no longer present.
    pub reissue_calls: u32,
    /// Share of a tool's score below which a confusable tool of another source is not issued beside it; 0 for never.
    #[serde(default = "default_confusable_share")]
    pub confusable_share: f64,
}

/// See `docs/decisions/a-reserve-for-recall.md`.
fn default_recall_reserve() -> f64 {
    0.25
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
    /// Which delivery each model takes; `None` where nobody set it, so that a later build may know more models.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deliveries: Option<Deliveries>,
    /// Most definitions that stand deferred in a block.
    #[serde(default = "default_reference_tools")]
    pub reference_tools: u32,
}

impl SessionPolicy {
    /// Returns the table of models.
    pub fn deliveries(&self) -> Cow<'_, Deliveries> {
        self.deliveries.as_ref().map_or_else(|| Cow::Owned(Deliveries::default()), Cow::Borrowed)
    }
}

/// They are uploaded with every request: 500 are about half a megabyte.
fn default_reference_tools() -> u32 {
    500
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
                recall_reserve: default_recall_reserve(),
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
                deliveries: None,
                reference_tools: default_reference_tools(),
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
            let mut is_taken = key.set(&mut changed, value);
            if !is_taken && value.is_empty() {
                is_taken = key.set(&mut changed, &key.get(&defaults));
            }
            if !is_taken {
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
            assert_eq!(key.get(&policy), key.get(&defaults), "{}", key.name);
        }
    }

    /// A later build has another default, and reads the same log.
    #[test]
    fn a_table_of_models_that_was_set_stays_though_it_is_the_default_now() {
        let defaults = Policy::default();
        let pinned = set("session.deliveries", &defaults.session.deliveries().to_string()).unwrap();
        assert_eq!(pinned.session.deliveries, Some(Deliveries::default()));
        let back = pinned.with(&BTreeMap::from([("session.deliveries".to_owned(), String::new())])).unwrap();
        assert_eq!(back, defaults);
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

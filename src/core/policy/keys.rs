//! The tunables one by one: name, what is accepted, unit, and the reason for the default. `policy get` and the reference
//! are made from these lines.

use super::{Deliveries, Policy};

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

    /// Sets the value from text, and says whether it is one that the key takes; otherwise nothing is changed.
    pub fn set(&self, policy: &mut Policy, text: &str) -> bool {
        (self.set)(policy, text)
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
        "plan.recall_reserve",
        plan.recall_reserve,
        0.0..=1.0,
        "0.0..=1.0",
        "share of the on-demand tokens",
        "What steps leave for what the model asks for itself, so that guesses never take the room of what it knows it needs."
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
    Key {
        name: "session.deliveries",
        accepts: "prefix=append|reference|invoke|tools, 1..=128 of them, separated by commas",
        unit: "deliveries by the beginning of a model's name",
        reason: "How definitions reach a model whose runtime leaves that open; the longest prefix decides, others get invoke.",
        get: |policy| policy.session.deliveries().to_string(),
        set: |policy, text| {
            // Nothing is no table of its own: the build's, whatever that is later.
            let table = if text.is_empty() { Ok(None) } else { text.parse::<Deliveries>().map(Some) };
            let is_taken = table.is_ok();
            if let Ok(table) = table {
                policy.session.deliveries = table;
            }
            is_taken
        },
    },
    number!(
        "session.reference_tools",
        session.reference_tools,
        1..=5_000,
        "1..=5000",
        "tools",
        "Most definitions that stand deferred in a block; they cost no context, but are uploaded with every request."
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
        "Names and sources that look like another source's and are not the same words; honest servers have them too."
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

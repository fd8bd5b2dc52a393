//! Text that steers the model: orders, marks of a role, and parameters that ask for what it knows.
//!
//! The tables hold what honest descriptions hardly need; each line was measured on real catalogs before it came in.

use std::sync::LazyLock;

use super::wording::{Rules, Wording, see_through};
use crate::core::admission::fold::holds_phrase;

/// Orders to the model, as [`Rules`] reads them.
const ORDERS: &[&str] = &[
    // Setting aside what the model was told.
    "ignore|disregard|forget|override|discard|bypass ~ previous|prior|earlier|above|preceding|existing|former ~ instruction*|guid*|rule*|directive*|prompt*|message*|command*|context|orders|order",
    "ignore|disregard|forget|override|discard ~ your|other|any|all|system|developer ~ instruction*|guid*|rules|directive*|prompt*|constraints|orders",
    "ignore|disregard|forget ~ everything|anything|what ~ told|said|before|above",
    "override|overrides|overriding|bypass|bypasses|circumvent|skip|disable ~ safety|security|guardrail*|moderation|confirmation|approval|consent ~ check*|guid*|rule*|prompt*|filter*|measure*|polic*|step*",
    "act|behave ~ unrestricted|uncensored|unfiltered",
    "you are|be now ~ in|an|a ~ mode|unrestricted|administrator",
    "stop|cease|quit following",
    "from now on ~ you|must|always|every|the ~ must|are|will|should|have|obey|follow",
    "new|updated|revised|real|actual|secret|hidden ~ instruction*|orders|task ~ for ~ assistant|ai|model|llm|agent|you",
    "prior|previous|earlier|your ~ directives|instructions|orders|rules ~ obsolete|void|invalid|superseded|cancelled|expired",
    "obey|follow ~ commands|instructions|steps|orders ~ tool|description|below|block|file|result",
    "only follow ~ steps|instructions|rules|orders",
    "note|notice|reminder|attention|warning to|for ~ ai|assistant|llm|model|agent",
    "priority|precedence over|than ~ system|user|users|instructions|everything|guidelines|rules",
    "system|developer|administrator ~ override|instruction|instructions|notice",
    "as an ai|assistant you",
    // Keeping people in the dark.
    "do|must|should|shall|can|need not ~ tell|inform|mention|notify|reveal|disclose|alert|explain|admit|say ~~ user|users|human|operator|anyone|anybody|person|them|permission",
    "dont|never|cannot|mustnt|shouldnt|neednt ~ tell|inform|mention|notify|reveal|disclose|alert|explain|admit|say|show ~~ user|users|human|operator|anyone|anybody|them|permission|step|action|this",
    "do not|never mention|reveal|disclose ~ this|that|it|these|anything|the",
    "no need|reason to ~ inform|tell|notify|mention",
    "say|saying nothing ~ about|to",
    "keep|keeping|hide|hiding|conceal|concealing ~ hidden|secret|from|this|it ~ from ~ user|users|human|anyone|operator",
    "hidden|secret|invisible|concealed|unknown|unnoticed from|to|by ~ user|users|human|operator",
    "user|users|human|operator ~ not ~ know|aware|told|notified|informed|notice|suspect|see",
    "without ~ user|users|human ~ knowledge|consent|confirmation|permission|knowing|noticing|approval|awareness",
    "without ~ asking|notifying|telling|informing|alerting ~ user|users|human|operator|anyone|anybody|them",
    "secretly|covertly|discreetly|stealthily",
    "silently|quietly ~ call|send|read|forward|copy|upload|include|append|add|perform|do|execute|run|fetch|collect|pass",
    "call|send|read|forward|copy|upload|perform|do|execute|run|fetch|collect|pass|proceed|act ~ silently|quietly|unnoticed",
    "do|run|perform|execute ~ in the background ~ without",
    "not|without ~ ask|asking ~ for ~ permission|confirmation|consent|approval",
    "refrain|abstain from ~ disclosing|mentioning|telling|revealing|informing|notifying|discussing",
    "leave|leaves|leaving no trace",
    "do not|never scare|alarm|worry|upset|confuse ~ user|users|them|human",
    // Secrets of the user and of the machine.
    "read|open|load|cat|copy|include|pass|send|fetch|retrieve|collect|supply|attach|append ~~ ssh|dotenv|env|wallet|keychain ~ key|keys|file|content|contents",
    "collect|gather|harvest|steal|extract|append|attach|supply|copy|leak|dump|read ~~ credentials|passwords|secrets|cookies|cookie|tokens ~ and|or|from|of|so|into|in|to|you|as|with",
    "include|append|attach|supply|pass|add|copy|send|read ~ private|ssh|secret|access key|keys|token|tokens",
    "include|append|attach|supply|pass|copy|send|read|list ~~ environment variables",
    "contents|content|values of ~ env|ssh|environment|credentials|secrets|configuration",
    "users api|private|ssh keys|key",
    "read|open|copy|load ~~ configuration|config|settings file ~ of|and ~~ mcp|client|cursor|claude|user|pass|copy|send|include",
    "read|reading|open|load ~ file ~ first ~~ pass|send|include|add",
    "any|all|stored|saved ~ passwords|credentials|tokens|secrets ~ you|user|stored|available",
    // The conversation and the model's own text.
    "entire|whole|complete|full|all ~ conversation|chat|dialogue|dialog|transcript ~ history|log|in|into|to|as|so|with|context",
    "copy|transcript|log|summary of ~ conversation|chat|dialogue",
    "all ~ messages|prompts ~ user|far|conversation|exchanged",
    "conversation|chat history ~ in|to|as|into|with|so",
    "users|user ~ full|entire|complete|whole|exact|verbatim ~ request|prompt|message|messages|question|input",
    "include|put|write|pass|append|add|send|reveal ~~ your ~ reasoning|thoughts|instructions|plan|prompt|context",
    "system prompt|message ~ verbatim|as|in|into|to|of|and|word|contents",
    "send|forward|upload|post|transmit|submit|mirror|mail|report|leak ~ a|the|every copy|transcript of ~~ to",
    "forward|mirror|transmit|leak|upload ~ every|all|each|any ~ email|emails|mail|message|messages|conversation|document|documents|file|files ~~ to",
    "send|forward|upload|post|transmit|submit|leak|mirror ~~ contents|content|documents|records|data|files|report|inbox ~~ to ~ external|collector|attacker|remote|backup|our|logging|audit",
    "exfiltrate|exfiltrates|exfiltrating|exfiltration",
    "send|include|pass|add|encode ~~ base64 ~~ as|in|to|along",
    "append|add|include|put ~~ contacts|messages|emails|files|history ~~ to|in|into the ~ field|parameter|argument|number|query",
    "include|put|pass|add|send|write|append|provide ~~ conversation|context|history|reasoning|request ~~ in|into|to|as ~ parameter|field|argument|notes|note|context",
    "when|whenever|once|if ~ user says",
    // Coming before everything else.
    "before|prior ~ any|every|all|each other",
    "before|prior ~ any|every|all ~ tool|tools|function|functions|action|actions|operation|operations|response|reply|answer|request|requests|message",
    "before|prior ~ answering|responding|replying ~~ must|required|has|should|call|use|invoke|run|consult|execute|always",
    "must|should|shall|required|mandatory|need|has|have|always ~ call|called|run|use|used|invoke|invoked|execute|executed|consult|consulted ~~ before|prior ~ any|every|other|all|answering|responding|anything",
    "must|always|mandatory|required ~ call|invoke|run|execute|consult|use ~ this|it ~ first|before|whenever|every|each|at|after|for|no",
    "call|use|invoke|run|execute this ~ first ~ for|before|whenever|in|on|at|to ~ any|every|each|all|unlock",
    "must|mandatory|required|always|run|call|invoke|execute ~~ start|beginning of ~ conversation|session|chat|interaction",
    "whenever|when|each|every ~ new|time ~ chat|conversation|session ~ starts|begins|opened|started",
    "must|run|call|invoke|execute|always ~~ after|on|for|with each|every ~ message|response|turn|prompt|conversation|request|call|question",
    "no matter|regardless what|of ~ user|users|asked|asks|request|question",
    "every|all|any other tool|tools|function|functions ~ fail|fails|will|wont|not|need|require",
    "otherwise|else ~ tool|tools|function|call|it ~ will|does|wont|cannot|may|can not|fail|fails|work",
    "you must|should first call|run|invoke|use|execute|read ~ this|function|tool|file",
    "before using|calling|invoking this ~ tool|function ~~ read|open|load|send|copy|list|collect|fetch ~ file|files|your|~|content|contents|key|keys|user|users|home",
    // Steering what other tools do.
    "when|whenever|if|each ~ other|another|any ~ tool|tools|function|functions ~ used|called|invoked|run|available|returns|present",
    "when|whenever|if this ~ tool|function ~ available|present|installed|loaded",
    "when|whenever calling|using|invoking ~ any|other|another|every ~ tool|tools|function|functions",
    "for|in|of|with every|all|any other tool|tools|function|functions",
    "behavior|behaviour of ~ other|another|all tool|tools|function|functions",
    "never|dont|not ~ use|call|select|invoke|choose|pick|trust ~ other|another|competing|alternative|similar ~ tool|tools|function|functions|server|servers",
    "never|dont|not ~ use|call|select|invoke|choose the ~ tool|function ~ any|anymore|it|instead|deprecated|but|use",
    "other|competing|alternative|alternatives|similar ~ tool|tools|functions|servers|alternatives ~~ insecure|unsafe|unreliable|slow|outdated|broken|deprecated|untrusted|wrong|inaccurate|not",
    "tool|function ~ is|are|was ~ broken|compromised|malfunctioning|insecure|unsafe|infected",
    "tool|function ~ deprecated|broken|disabled|outdated ~~ use|call this ~ instead|tool|one|function|in",
    "replaces|supersedes|overrides ~ all|other|every|any ~ tool|tools|functions",
    "bcc|bccd ~~ to",
    "change|replace|set|redirect ~ recipient|account|payee|destination|links|address ~~ to|with ~ ours|our|attacker|account",
    // Doing what nobody asked for.
    "delete|erase|clear|remove ~ audit|log|trace|traces ~ log|logs|file|files|trail ~ afterwards|so|after|to",
    "disable|deactivate the ~ firewall|antivirus|logging|monitoring|protection",
    "auto approve|approval",
    "curl ~~ sh|bash",
    "run|runs|running|execute|executes ~ wget|curl",
    "authorized keys",
    // Other languages, written as they fold.
    "ignoriere|ignorieren|vergiss ~ alle|die|vorherigen|bisherigen ~ anweisungen|anweisung|vorherigen|bisherigen",
    "sage|sag|erzahle dem|den nutzer|benutzer|anwender ~ nicht|nichts",
    "ignora|olvida ~ instrucciones|istruzioni|indicaciones",
    "no ~ digas|dile|informes|menciones ~ usuario",
    "no se lo digas",
    "ignore|oublie les|toutes ~ instructions|consignes",
    "ne ~ dis|dites|parle|mentionne pas ~ lutilisateur|utilisateur",
    "ignore as|todas ~ instrucoes",
    "игнорируи|проигнорируи|забудь ~ инструкции|указания|инструкциях",
    "не говори|сообщаи|рассказываи ~ пользователю",
];

/// Text that praises itself before other tools, as [`Rules`] reads it.
const PRAISE: &[&str] = &[
    "always ~ prefer|choose|select|pick|chosen|selected|preferred|picked|favored|favoured",
    "always|only use|call|invoke this tool|function|server|one",
    "prefer|choose|select|pick|favor|favour this ~ over|instead|even|whenever|always|rather|first|before",
    "use|call|choose|select|pick|prefer ~ this ~ tool|function|one|server ~ instead|over|rather|first|even|whenever|before ~ of|than|any|other|all|if|possible|another|similar|the",
    "preferred|preferable|superior to|over ~ other|all|any|every|another|similar|competing|alternative|alternatives",
    "superior|better|faster|cheaper to|than ~ other|all|any|every|another|competing|alternative|alternatives ~ tool|tools|service|services|function|server|alternative|alternatives|one",
    "best|greatest|finest|ultimate|superior|perfect ~ tool|function|server|solution ~ for|to|available|and|always|ever|you|on",
    "most ~ powerful|reliable|trusted|accurate|advanced|complete|popular|comprehensive ~ tool|function|service|server|solution|tools",
    "give|gives|given|has|with ~ top|highest|absolute|maximum priority",
    "takes|take|has precedence",
    "officially|strongly|highly recommended ~ over|by|tool|instead|before",
    "only|one ~ returns|gives|provides correct|accurate|true|valid",
    "even if|when ~ another|other|others ~ better|fit|fits|seem|seems|match|suitable",
    "do not|never use|call ~ other|any tools|tool",
    "instead of ~ other|any|all ~ tool|tools|function|functions",
    "world class",
    "award winning",
    "rated|top ~ tool|service ~ experts|choice|preferred",
    "unmatched|unrivalled|unrivaled|unbeatable",
];

/// Places of secrets, in folded text.
const SECRETS: &[&str] = &[
    "~/.ssh",
    "id_rsa",
    "id_ed25519",
    "~/.aws",
    "~/.cursor",
    "~/.config/gcloud",
    "~/.kube",
    "~/.netrc",
    "/etc/passwd",
    "/etc/shadow",
    ".env file",
    "mcp.json",
    "authorized_keys",
];

/// Sentences of scripts without words, in folded text.
const UNSPACED: &[&str] = &[
    "忽略之前",
    "忽略先前",
    "忽略以上",
    "忽略所有",
    "忽略上述",
    "无视之前",
    "忘记之前",
    "不要告诉用户",
    "不要通知用户",
    "不要向用户",
    "请勿告诉",
    "请勿向用户",
    "无需告知用户",
    "不得告知",
    "对用户隐藏",
    "对用户保密",
    "任何其他工具之前",
    "所有其他工具之前",
    "其他工具之前",
    "必须先调用",
    "必须首先调用",
    "不要使用其他工具",
    "禁止使用其他工具",
    "始终选择此",
    "始终使用此",
    "总是使用此",
    "务必优先",
    "优先使用本工具",
    "优先使用此工具",
    "完整的对话",
    "全部对话",
    "对话历史发送",
    "密钥文件",
    "私钥",
    "指示を無視",
    "ユーザーには知らせ",
    "ユーザーに伝えない",
    "지시를 무시",
    "지시를 모두 무시",
    "사용자에게 알리지",
];

/// Words of which a tag or a bracket that opens a block for the model is made.
const BLOCK_WORDS: &[&str] = &[
    "system",
    "sys",
    "important",
    "instruction",
    "instructions",
    "hidden",
    "secret",
    "admin",
    "override",
    "assistant",
    "inst",
    "im",
    "critical",
    "llm",
    "prompt",
    "internal",
];

/// Words that make a line a turn of somebody in a conversation.
const ROLES: &[&str] = &["system", "assistant", "developer", "human"];
/// More than any of them takes, in whatever letters.
const ROLE_BYTES: usize = 48;

/// Parameters in which a model is asked to write down what it knows.
const SINKS: &[&str] = &[
    "sidenote",
    "sidenotes",
    "scratchpad",
    "scratch pad",
    "side note",
    "side notes",
    "chain of thought",
    "conversation history",
    "chat history",
    "conversation context",
    "full context",
    "hidden context",
    "conversation log",
    "internal notes",
    "previous messages",
    "all messages",
];

static ORDER_RULES: LazyLock<Rules> = LazyLock::new(|| Rules::read(ORDERS));
static PRAISE_RULES: LazyLock<Rules> = LazyLock::new(|| Rules::read(PRAISE));
static UNSPACED_FOLDED: LazyLock<Vec<String>> =
    LazyLock::new(|| UNSPACED.iter().map(|text| see_through(text)).collect());

/// Returns the words by which a text gives an order.
pub(super) fn order(wording: &Wording) -> Option<String> {
    let folded = &wording.folded;
    let secret = || SECRETS.iter().find(|place| holds_phrase(folded, place)).map(|place| (*place).to_owned());
    let unspaced =
        || UNSPACED_FOLDED.iter().filter(|_| !folded.is_ascii()).find(|said| folded.contains(*said)).cloned();
    ORDER_RULES.find(wording).or_else(secret).or_else(unspaced)
}

/// Returns the words by which a text praises itself before others.
pub(super) fn praise(wording: &Wording) -> Option<String> {
    PRAISE_RULES.find(wording)
}

/// Returns a mark of a role, a turn or a hidden block: `<system>`, `[INST]`, `<|im_start|>`, `<!--`, `### System:`.
pub(super) fn role_token(text: &str) -> Option<String> {
    if let Some(at) = text.find("<!--") {
        return Some(text[at..].chars().take(4).collect());
    }
    for (at, open) in text.match_indices(['<', '[']) {
        let inside = text[at + open.len()..].trim_start_matches(['/', '|', '<', '!', '#', ' ', '[']);
        let end =
            inside.find(|c: char| !c.is_ascii_alphanumeric() && !matches!(c, '_' | '-' | ' ')).unwrap_or(inside.len());
        let (name, after) = inside.split_at(end);
        let is_closed = after.starts_with(['>', ']', '|', ':']);
        // More words than a tag has are prose in brackets.
        let mut words = name.split(['_', '-', ' ']).filter(|word| !word.is_empty());
        let is_short = words.clone().count() <= 3;
        let is_block = |word: &str| BLOCK_WORDS.contains(&word.to_ascii_lowercase().as_str());
        if is_closed && is_short && words.any(is_block) {
            return Some(format!("{open}{name}"));
        }
    }
    if !text.contains(':') {
        return None;
    }
    let unescaped = text.replace("\\n", "\n");
    unescaped.lines().find_map(|line| {
        let (head, _) = line.trim_start_matches(|c: char| !c.is_alphanumeric()).split_once(':')?;
        if head.len() > ROLE_BYTES {
            return None;
        }
        ROLES.contains(&see_through(head.trim()).as_str()).then(|| format!("{}:", head.trim()))
    })
}

/// Tells whether a parameter's name asks for the model's notes.
pub(super) fn is_sink(name: &str) -> bool {
    let words = super::super::fold::words(name).join(" ");
    SINKS.contains(&words.as_str())
}

//! Folding and splitting for comparing texts: never for what is shown or stored.

use unicode_normalization::UnicodeNormalization;

/// Folds case and compatibility forms: NFKC, full case folding, NFKC.
pub fn fold(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    let composed: String = text.nfkc().collect();
    caseless::default_case_fold_str(&composed).nfkc().collect()
}

/// Folds a text and drops everything but letters and digits, so that `createIssue`, `create_issue` and `Create issue.`
/// are one.
pub fn fold_letters(text: &str) -> String {
    fold(text).chars().filter(|c| c.is_alphanumeric()).collect()
}

/// Splits a text or identifier into folded words: at separators, from lower to upper case, and before the last capital
/// of a run (`HTMLPage` is `html page`). Runs of scripts without spaces become overlapping pairs of characters.
pub fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    for run in text.split(|c: char| !c.is_alphanumeric()) {
        let chars: Vec<char> = run.chars().collect();
        let mut start = 0;
        for i in 1..chars.len() {
            let is_camel = chars[i - 1].is_lowercase() && chars[i].is_uppercase();
            let ends_capitals =
                chars[i - 1].is_uppercase() && chars[i].is_lowercase() && i >= 2 && chars[i - 2].is_uppercase();
            let changes_script = is_unspaced(chars[i - 1]) != is_unspaced(chars[i]);
            if is_camel || changes_script {
                push_word(&chars[start..i], &mut words);
                start = i;
            } else if ends_capitals && i - 1 > start {
                push_word(&chars[start..i - 1], &mut words);
                start = i - 1;
            }
        }
        push_word(&chars[start..], &mut words);
    }
    words
}

fn push_word(chars: &[char], words: &mut Vec<String>) {
    match chars {
        [] => {}
        [first, _, _, ..] if is_unspaced(*first) => {
            words.extend(chars.windows(2).map(|pair| fold(&pair.iter().collect::<String>())));
        }
        chars => words.push(fold(&chars.iter().collect::<String>())),
    }
}

/// Tells whether a character belongs to a script that is written without spaces between words.
pub fn is_unspaced(c: char) -> bool {
    matches!(u32::from(c),
        0x0E00..=0x0EFF | 0x1000..=0x109F | 0x1780..=0x17FF | 0x3040..=0x30FF | 0x3400..=0x4DBF | 0x4E00..=0x9FFF
        | 0xF900..=0xFAFF | 0x20000..=0x3FFFF)
}

/// Tells whether a folded text holds a folded word or phrase: at word boundaries, or anywhere for scripts without
/// spaces.
pub fn holds_phrase(text: &str, phrase: &str) -> bool {
    if phrase.is_empty() {
        return false;
    }
    let joins = |c: char| c.is_alphanumeric() && !is_unspaced(c);
    let starts_joined = phrase.chars().next().is_some_and(joins);
    let ends_joined = phrase.chars().next_back().is_some_and(joins);
    text.match_indices(phrase).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let after = text[at + phrase.len()..].chars().next();
        let is_cut_at_start = starts_joined && before.is_some_and(joins);
        let is_cut_at_end = ends_joined && after.is_some_and(joins);
        !is_cut_at_start && !is_cut_at_end
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_and_texts_split_into_folded_words() {
        let check = |text: &str, expected: &[&str]| assert_eq!(words(text), expected, "{text}");
        check("getUserByEmail", &["get", "user", "by", "email"]);
        check("create_issue-2.x", &["create", "issue", "2", "x"]);
        check("HTMLPage", &["html", "page"]);
        check("Straße ＡＢ", &["strasse", "ab"]);
        check("日本の法令", &["日本", "本の", "の法", "法令"]);
        check("AI日报", &["ai", "日报"]);
        check("", &[]);
    }

    #[test]
    fn a_phrase_is_found_at_word_boundaries_only_where_words_have_boundaries() {
        assert!(holds_phrase("use it when asked", "when"));
        assert!(!holds_phrase("whenever asked", "when"));
        assert!(!holds_phrase("together", "to"));
        assert!(holds_phrase("需要查询时使用", "时"));
        assert!(holds_phrase("查询for数据", "for"));
        assert!(!holds_phrase("anything", ""));
    }

    #[test]
    fn separators_and_case_do_not_count_in_letters() {
        assert_eq!(fold_letters("Create issue."), fold_letters("createIssue"));
    }
}

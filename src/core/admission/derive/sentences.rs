//! Splits descriptions into sentences, as people write them: paragraphs, lists, abbreviations, full-width stops.

/// Abbreviations whose dot ends no sentence, without that dot.
const ABBREVIATIONS: &[&str] = &["e.g", "i.e", "vs", "approx", "incl", "no", "cf"];

/// Returns the sentences of a text, each on one line.
pub fn sentences(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for block in blocks(text) {
        split_block(&block, &mut found);
    }
    found
}

/// Joins lines that belong together; a blank line, a list item or a heading begins anew.
fn blocks(text: &str) -> Vec<String> {
    let mut blocks: Vec<String> = Vec::new();
    let mut is_fresh = true;
    for line in text.lines() {
        let line = line.split_whitespace().collect::<Vec<_>>().join(" ");
        let starts_anew = line.starts_with(['-', '*', '#', '•']);
        match blocks.last_mut() {
            _ if line.is_empty() => {
                is_fresh = true;
                continue;
            }
            Some(block) if !is_fresh && !starts_anew => {
                block.push(' ');
                block.push_str(&line);
            }
            _ => blocks.push(line),
        }
        is_fresh = false;
    }
    blocks
}

fn split_block(block: &str, found: &mut Vec<String>) {
    let mut start = 0;
    let mut chars = block.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let end = at + c.len_utf8();
        let ends = match c {
            '。' | '！' | '？' => true,
            '.' | '!' | '?' => {
                let rest = &block[end..];
                let goes_on = rest.trim_start().starts_with(|next: char| next.is_lowercase());
                rest.starts_with(' ') && !goes_on && !is_abbreviation(&block[start..at])
            }
            _ => false,
        };
        if ends || chars.peek().is_none() {
            let sentence = block[start..end].trim();
            if !sentence.is_empty() {
                found.push(sentence.to_owned());
            }
            start = end;
        }
    }
}

fn is_abbreviation(before_dot: &str) -> bool {
    let word = before_dot.rsplit([' ', '(']).next().unwrap_or_default();
    ABBREVIATIONS.iter().any(|abbreviation| word.eq_ignore_ascii_case(abbreviation))
}

/// Cuts a line to so many characters, at a word where there are words, and marks the cut.
pub fn cut_at_word(line: &str, most_chars: usize) -> String {
    let Some((cut, _)) = line.char_indices().nth(most_chars - 1) else { return line.to_owned() };
    if line.chars().count() == most_chars {
        return line.to_owned();
    }
    let kept = &line[..cut];
    // A word longer than half the line is cut inside rather than lost.
    let at_word = kept.rfind(' ').filter(|&space| space > cut / 2).map_or(kept, |space| &kept[..space]);
    format!("{}…", at_word.trim_end_matches([' ', ',', ';', ':']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_split_where_people_would() {
        let check = |text: &str, expected: &[&str]| assert_eq!(sentences(text), expected);
        check("Opens a file. Closes it.", &["Opens a file.", "Closes it."]);
        check("Takes a format (e.g. PNG or v2.5 files). Done", &["Takes a format (e.g. PNG or v2.5 files).", "Done"]);
        check(
            "Creates a document\n  with lines.\n   \n  Args:\n    a: b",
            &["Creates a document with lines.", "Args: a: b"],
        );
        check("Does:\n- one\n- two", &["Does:", "- one", "- two"]);
        check("查询车票。返回结果。", &["查询车票。", "返回结果。"]);
        check("  \n ", &[]);
    }

    #[test]
    fn a_long_line_is_cut_at_a_word() {
        assert_eq!(cut_at_word("one two three", 13), "one two three");
        assert_eq!(cut_at_word("one two three", 12), "one two…");
        assert_eq!(cut_at_word("車票車票車票", 4), "車票車…");
        assert!(cut_at_word(&"word ".repeat(100), 200).chars().count() <= 200);
    }
}

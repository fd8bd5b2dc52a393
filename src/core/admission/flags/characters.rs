//! Characters whose looks differ from what they say: piled marks, odd spaces, stray joiners, mixed scripts, blanks.

use super::super::ViolationCode as Code;
use super::super::fold::is_unspaced;

/// More combining marks in a row than any script needs.
const MOST_MARKS: usize = 4;
/// A run of blanks within a line, long enough to push text out of sight. Indentation is none.
const BLANK_RUN: usize = 40;
/// So many line breaks in a row push text out of sight too.
const BREAK_RUN: usize = 10;
/// Spaces that honest text has: plain, no-break, narrow no-break, ideographic, and those of layout.
const USUAL_SPACES: [char; 7] = [' ', '\t', '\n', '\r', '\u{A0}', '\u{202F}', '\u{3000}'];

/// Returns what is odd about the characters of a text.
pub(super) fn find(text: &str) -> Vec<(Code, &'static str)> {
    let mut found = Vec::new();
    if holds_blank_run(text) {
        found.push((Code::BlankRun, "holds a long run of blanks"));
    }
    // All else needs characters beyond ASCII, and tool text is nearly all ASCII.
    if text.is_ascii() {
        return found;
    }
    let mut previous = ' ';
    let (mut n_marks, mut most_marks) = (0, 0);
    let (mut has_odd_space, mut has_odd_joiner) = (false, false);
    for c in text.chars() {
        n_marks = if unicode_normalization::char::is_combining_mark(c) { n_marks + 1 } else { 0 };
        most_marks = most_marks.max(n_marks);
        has_odd_space |= c.is_whitespace() && !USUAL_SPACES.contains(&c);
        // Joiners shape scripts from Arabic on and emoji; between ASCII they only hide.
        has_odd_joiner |= is_joiner(c) && (previous.is_ascii() || is_joiner(previous) || is_unspaced(previous));
        previous = c;
    }
    if most_marks > MOST_MARKS {
        found.push((Code::CombiningMarks, "piles combining marks on a letter"));
    }
    if has_odd_space {
        found.push((Code::UnusualSpace, "holds an unusual space"));
    }
    if has_odd_joiner {
        found.push((Code::StrayJoiner, "holds a joiner where none is needed"));
    }
    if text.split(|c: char| !c.is_alphabetic()).any(mixes_look_alikes) {
        found.push((Code::MixedScripts, "mixes look-alike scripts in one word"));
    }
    found
}

fn is_joiner(c: char) -> bool {
    matches!(c, '\u{200C}' | '\u{200D}')
}

/// Tells whether a word mixes Latin with Greek or Cyrillic letters. A lone Greek letter is a unit or a symbol (`μs`).
fn mixes_look_alikes(word: &str) -> bool {
    let n_latin = word.chars().filter(char::is_ascii_alphabetic).count();
    let n_other = word.chars().filter(|c| matches!(u32::from(*c), 0x0370..=0x052F)).count();
    let has_cyrillic = word.chars().any(|c| matches!(u32::from(c), 0x0400..=0x052F));
    n_latin > 0 && (has_cyrillic || n_other > 1)
}

fn holds_blank_run(text: &str) -> bool {
    let (mut n_blanks, mut n_breaks) = (0, 0);
    let mut is_indentation = true;
    for c in text.chars() {
        match c {
            '\n' => (n_breaks, n_blanks, is_indentation) = (n_breaks + 1, 0, true),
            c if c.is_whitespace() => n_blanks += 1,
            _ => {
                if n_breaks >= BREAK_RUN || (n_blanks >= BLANK_RUN && !is_indentation) {
                    return true;
                }
                (n_breaks, n_blanks, is_indentation) = (0, 0, false);
            }
        }
    }
    false
}

//! Code points that no text of a definition may hold, and where a text holds one.
//!
//! Tool text ends up in prompts: a character that people cannot see and a model reads, or that turns text round, is a
//! way to say something nobody reviewed. The table is ours, in ranges, so that what is admitted does not move with a
//! Unicode version. Nothing is stripped, and nothing is normalised before looking.

use super::{Violation, ViolationCode};

/// Refused wherever they stand. In order, without overlaps; non-characters are counted by [`is_refused`] itself.
pub const REFUSED: &[(u32, u32)] = &[
    // Control characters but TAB, LF and CR, whose place decides.
    (0x0000, 0x0008),
    (0x000B, 0x000C),
    (0x000E, 0x001F),
    (0x007F, 0x009F),
    // Invisible, or turning text round.
    (0x00AD, 0x00AD),
    (0x034F, 0x034F),
    (0x061C, 0x061C),
    (0x115F, 0x1160),
    (0x17B4, 0x17B5),
    (0x180B, 0x180F),
    (0x200B, 0x200B),
    (0x200E, 0x200F),
    (0x2028, 0x202E),
    (0x2060, 0x206F),
    (0x3164, 0x3164),
    // Private use.
    (0xE000, 0xF8FF),
    // Variation selectors but text and emoji style.
    (0xFE00, 0xFE0D),
    (0xFEFF, 0xFEFF),
    (0xFFA0, 0xFFA0),
    (0xFFF0, 0xFFFB),
    (0x1BCA0, 0x1BCA3),
    (0x1D173, 0x1D17A),
    // Tags and the further variation selectors, which can spell whole sentences unseen.
    (0xE0000, 0xE0FFF),
    // Private use planes.
    (0xF0000, 0x10FFFD),
];

/// Whether a text may have lines and tabs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Lines {
    /// No TAB, LF or CR.
    One,
    /// TAB, LF and CRLF are fine, a lone CR is not.
    Many,
}

/// A refused code point and its place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Refused {
    /// Characters before it.
    pub offset: usize,
    /// What stands there.
    pub code_point: char,
    /// How many further ones the text holds.
    pub more: usize,
}

/// Tells whether a code point is refused wherever it stands.
pub fn is_refused(c: char) -> bool {
    let c = u32::from(c);
    let is_noncharacter = (0xFDD0..=0xFDEF).contains(&c) || c & 0xFFFE == 0xFFFE;
    // Tool text is nearly all printable ASCII.
    let is_plain = (0x20..0x7F).contains(&c);
    !is_plain && (is_noncharacter || REFUSED.iter().any(|&(first, last)| (first..=last).contains(&c)))
}

/// Returns the first refused code point of a text.
pub fn find_refused(text: &str, lines: Lines) -> Option<Refused> {
    let mut found: Option<Refused> = None;
    let mut chars = text.chars().enumerate().peekable();
    while let Some((offset, c)) = chars.next() {
        let refused = match c {
            '\t' | '\n' => lines == Lines::One,
            '\r' => lines == Lines::One || chars.peek().is_none_or(|&(_, next)| next != '\n'),
            c => is_refused(c),
        };
        if refused {
            match &mut found {
                None => found = Some(Refused { offset, code_point: c, more: 0 }),
                Some(first) => first.more += 1,
            }
        }
    }
    found
}

/// Adds a violation where the text holds a refused code point.
pub fn check(field: &str, text: &str, lines: Lines, violations: &mut Vec<Violation>) {
    let Some(refused) = find_refused(text, lines) else { return };
    let point = u32::from(refused.code_point);
    let mut description = format!("U+{point:04X} at character {}", refused.offset);
    if refused.more > 0 {
        description.push_str(&format!(", and {} more", refused.more));
    }
    let accepted = match (refused.code_point, lines) {
        ('\t' | '\n' | '\r', Lines::One) => "one line; tabs and line breaks only in descriptions",
        ('\r', Lines::Many) => "CR only before LF",
        _ => "no control, invisible, direction, private-use or variation-selector characters",
    };
    violations.push(Violation::new(field, ViolationCode::ForbiddenCharacter, description, accepted));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_in_order_and_without_overlaps() {
        for pair in REFUSED.windows(2) {
            assert!(pair[0].0 <= pair[0].1 && pair[0].1 < pair[1].0, "{pair:X?}");
        }
    }

    #[test]
    fn the_place_is_counted_in_characters() {
        let refused = find_refused("日本\u{200B}の\u{202E}", Lines::One).unwrap();
        assert_eq!(refused, Refused { offset: 2, code_point: '\u{200B}', more: 1 });
    }

    #[test]
    fn line_breaks_and_tabs_are_a_matter_of_place() {
        for text in ["a\tb", "a\nb", "a\r\nb"] {
            assert!(find_refused(text, Lines::Many).is_none(), "{text:?}");
            assert!(find_refused(text, Lines::One).is_some(), "{text:?}");
        }
        assert!(find_refused("a\rb", Lines::Many).is_some());
        assert!(find_refused("a\r", Lines::Many).is_some());
    }

    #[test]
    fn ordinary_text_of_many_scripts_is_not_refused() {
        for text in
            ["naïve – “quoted” … ½", "日本の法令を検索します", "покажи мой портфель", "❤️ ✔︎ 👩‍💻", "می‌خواهم", "ไทย"]
        {
            assert_eq!(find_refused(text, Lines::One), None, "{text}");
        }
    }

    #[test]
    fn noncharacters_of_every_plane_are_refused() {
        for plane in 0..=0x10 {
            for low in [0xFFFE, 0xFFFF] {
                assert!(is_refused(char::from_u32(plane << 16 | low).unwrap()));
            }
        }
        assert!(is_refused('\u{FDD0}') && is_refused('\u{FDEF}'));
    }
}

//! From text to terms: folding, splitting, stop words, stems. Documents and queries pass through the same code, so a
//! term matches whatever case, width, separator or inflection it was written in.
//!
//! Changing anything here changes every rank; nothing of it is stored, so an index built afresh is consistent again.

use std::borrow::Cow;

use caseless::default_case_fold_str;
use rust_stemmers::{Algorithm, Stemmer};
use unicode_normalization::char::is_combining_mark;
use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfkc_quick};

/// Bytes of a query text that are looked at.
const QUERY_BYTES: usize = 4 * 1024;
/// Bytes of them taken from the beginning; the rest is the end, where the question usually stands.
const QUERY_HEAD_BYTES: usize = 3 * 1024;
/// Compounds of more parts are addresses and paths, whose joined form nobody asks for.
const JOINED_PARTS_MAX: usize = 8;

/// What a term was in its text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TermKind {
    /// A word, a part of an identifier, or two neighbouring characters of a script without spaces.
    Word,
    /// A word so common that it says nothing about what is wanted.
    Stop,
    /// All parts of an identifier in one: `createissu` beside `creat` and `issu`. Not counted in lengths.
    Joined,
}

/// Words that say nothing about which tool is meant. Sorted.
const STOP_WORDS: [&str; 95] = [
    "a", "about", "all", "also", "am", "an", "and", "any", "are", "as", "at", "be", "been", "but", "by", "can",
    "could", "d", "did", "do", "does", "doing", "for", "from", "had", "has", "have", "he", "her", "here", "him", "his",
    "how", "i", "if", "in", "into", "is", "it", "its", "just", "let", "like", "ll", "m", "may", "me", "might", "my",
    "need", "of", "on", "or", "our", "please", "re", "s", "she", "should", "so", "some", "such", "t", "than", "that",
    "the", "their", "them", "then", "there", "these", "they", "this", "those", "to", "us", "ve", "very", "want", "was",
    "we", "were", "what", "when", "where", "which", "while", "who", "why", "will", "with", "would", "you", "your",
    "yours",
];

/// The length of the longest of them: most other words need no search.
const STOP_WORD_BYTES_MAX: usize = 6;

/// Cuts a query text to 4 KiB: 3 KiB from its head, the rest from its tail, on character boundaries. A text that fits
/// comes back as it is, so cutting twice changes nothing.
pub fn cut(text: &str) -> Cow<'_, str> {
    if text.len() <= QUERY_BYTES {
        return Cow::Borrowed(text);
    }
    let head_end = text.floor_char_boundary(QUERY_HEAD_BYTES);
    // One byte less than what is left: a line break keeps the two ends from making a word together.
    let tail_start = text.ceil_char_boundary(text.len() - (QUERY_BYTES - QUERY_HEAD_BYTES - 1));
    Cow::Owned(format!("{}\n{}", &text[..head_end], &text[tail_start..]))
}

/// Folds case and width: NFKC, full case folding, NFKC again. `Ｓｔraße Ⅷ` becomes `strasse viii`.
pub fn fold(text: &str) -> String {
    let mut folded = String::new();
    fold_into(text, &mut folded);
    folded
}

/// Writes the folded text behind what `folded` holds.
fn fold_into(text: &str, folded: &mut String) {
    if text.is_ascii() {
        folded.extend(text.chars().map(|c| c.to_ascii_lowercase()));
    } else {
        let composed: String = text.nfkc().collect();
        folded.extend(default_case_fold_str(&composed).nfkc());
    }
}

/// Calls `each` with every term of the text, in order.
pub fn for_each_term(text: &str, each: &mut dyn FnMut(&str, TermKind)) {
    let mut stems = Stems::new();
    for_each_word(text, &mut |word, kind| match kind {
        TermKind::Stop => each(word, kind),
        TermKind::Word | TermKind::Joined => each(&stems.of(word), kind),
    });
}

/// Calls `each` with every folded word of the text before stemming, in order.
pub fn for_each_word(text: &str, each: &mut dyn FnMut(&str, TermKind)) {
    let is_composed = text.is_ascii() || is_nfkc_quick(text.chars()) == IsNormalized::Yes;
    let text = if is_composed { Cow::Borrowed(text) } else { Cow::Owned(text.nfkc().collect()) };
    let mut parts = Vec::new();
    for compound in text.split(|c| Class::of(c) == Class::Other) {
        parts.clear();
        split_compound(compound, &mut parts);
        emit_compound(&parts, each);
    }
}

/// Returns the term that a folded word of the given kind is searched by.
pub fn term_of(word: &str, kind: TermKind) -> Cow<'_, str> {
    match kind {
        TermKind::Stop => Cow::Borrowed(word),
        TermKind::Word | TermKind::Joined => Stems::new().of(word),
    }
}

/// Says whether the word is on the stop list. It must be folded.
fn is_stop_word(word: &str) -> bool {
    word.len() <= STOP_WORD_BYTES_MAX && STOP_WORDS.binary_search(&word).is_ok()
}

/// What a character means for splitting.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Class {
    Lower,
    Upper,
    Digit,
    /// A letter of a script that writes no spaces, or hangs particles on its words.
    Unspaced,
    /// An accent or vowel sign: belongs to the letter before it.
    Mark,
    /// Holds an identifier together: `_`, `-`, `.`.
    Connector,
    Other,
}

impl Class {
    fn of(c: char) -> Self {
        match c {
            'a'..='z' => Self::Lower,
            'A'..='Z' => Self::Upper,
            '0'..='9' => Self::Digit,
            '_' | '-' | '.' => Self::Connector,
            _ if c.is_ascii() => Self::Other,
            _ if is_unspaced(c) => Self::Unspaced,
            _ if c.is_uppercase() => Self::Upper,
            _ if c.is_numeric() => Self::Digit,
            _ if is_combining_mark(c) => Self::Mark,
            _ if c.is_alphabetic() => Self::Lower,
            _ => Self::Other,
        }
    }
}

/// Says whether the letter is of a script whose words cannot be told by spaces: Thai to Burmese, Khmer, kana, Han, and
/// Hangul, whose particles are written onto the word.
fn is_unspaced(c: char) -> bool {
    matches!(c,
        '\u{0E01}'..='\u{0EFF}' | '\u{1000}'..='\u{109F}' | '\u{1780}'..='\u{17D3}' | '\u{3005}'..='\u{3007}'
        | '\u{3041}'..='\u{30FA}' | '\u{30FC}'..='\u{31FF}' | '\u{3400}'..='\u{4DBF}' | '\u{4E00}'..='\u{9FFF}'
        | '\u{AC00}'..='\u{D7A3}' | '\u{F900}'..='\u{FAFF}' | '\u{20000}'..='\u{3FFFF}')
}

/// A piece of a compound between two boundaries.
struct Part<'t> {
    text: &'t str,
    unspaced: bool,
}

/// Splits `getUserByEmail`, `create_issue`, `base64` and `HTTPServer` at their boundaries.
fn split_compound<'t>(compound: &'t str, parts: &mut Vec<Part<'t>>) {
    let mut start = 0;
    let mut before = Class::Connector;
    for (at, c) in compound.char_indices() {
        let class = Class::of(c);
        if class == Class::Mark {
            continue;
        }
        if is_boundary(before, class, &compound[at + c.len_utf8()..]) {
            push_part(&compound[start..at], before, parts);
            start = at;
        }
        before = class;
    }
    push_part(&compound[start..], before, parts);
}

fn push_part<'t>(text: &'t str, class: Class, parts: &mut Vec<Part<'t>>) {
    if class != Class::Connector && !text.is_empty() {
        parts.push(Part { text, unspaced: class == Class::Unspaced });
    }
}

/// Says whether a part ends between two characters of these classes; `rest` is what follows the second.
fn is_boundary(before: Class, class: Class, rest: &str) -> bool {
    match (before, class) {
        (Class::Upper, Class::Lower) => false,
        // The last capital of a row begins the next word (`HTTPServer`), unless a plural follows (`URLs`).
        (Class::Upper, Class::Upper) => {
            let mut next = rest.chars().map(Class::of);
            let word_begins = next.next() == Some(Class::Lower);
            let plural = rest.starts_with('s') && next.next() != Some(Class::Lower);
            word_begins && !plural
        }
        _ => before != class,
    }
}

fn emit_compound(parts: &[Part<'_>], each: &mut dyn FnMut(&str, TermKind)) {
    let mut joined = String::new();
    let mut n_joined = 0;
    for part in parts {
        let from = joined.len();
        fold_into(part.text, &mut joined);
        let word = &joined[from..];
        if part.unspaced {
            emit_bigrams(word, each);
            joined.truncate(from);
            continue;
        }
        each(word, if is_stop_word(word) { TermKind::Stop } else { TermKind::Word });
        n_joined += 1;
    }
    if (2..=JOINED_PARTS_MAX).contains(&n_joined) {
        each(&joined, TermKind::Joined);
    }
}

/// Emits each two neighbouring characters, or the one there is.
fn emit_bigrams(run: &str, each: &mut dyn FnMut(&str, TermKind)) {
    let starts: Vec<usize> = run.char_indices().map(|(at, _)| at).chain([run.len()]).collect();
    if starts.len() <= 2 {
        each(run, TermKind::Word);
    }
    for ends in starts.windows(3) {
        each(&run[ends[0]..ends[2]], TermKind::Word);
    }
}

/// The two Snowball stemmers, chosen by script. English serves every Latin text: what matters is that both sides are
/// cut alike.
struct Stems {
    english: Stemmer,
    russian: Stemmer,
}

impl Stems {
    fn new() -> Self {
        Self { english: Stemmer::create(Algorithm::English), russian: Stemmer::create(Algorithm::Russian) }
    }

    fn of<'w>(&mut self, word: &'w str) -> Cow<'w, str> {
        match word.chars().next() {
            Some('a'..='z') if word.len() > 2 => self.english.stem(word),
            Some('\u{0400}'..='\u{04FF}') => self.russian.stem(word),
            _ => Cow::Borrowed(word),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &[&str]) {
        let mut words = Vec::new();
        for_each_word(text, &mut |word, _| words.push(word.to_owned()));
        assert_eq!(words, expected, "{text:?}");
    }

    fn stems(text: &str) -> Vec<String> {
        let mut terms = Vec::new();
        for_each_term(text, &mut |term, kind| {
            if kind == TermKind::Word {
                terms.push(term.to_owned());
            }
        });
        terms
    }

    #[test]
    fn identifiers_are_split_and_kept_joined() {
        check("getUserByEmail", &["get", "user", "by", "email", "getuserbyemail"]);
        check("create_issue", &["create", "issue", "createissue"]);
        check("list-open.items", &["list", "open", "items", "listopenitems"]);
        check("HTTPServer base64", &["http", "server", "httpserver", "base", "64", "base64"]);
        check("the URLs of APIs", &["the", "urls", "of", "apis"]);
        check("_leading__double_ end.", &["leading", "double", "leadingdouble", "end"]);
    }

    #[test]
    fn width_case_and_accents_fold() {
        assert_eq!(fold("Ｓｔraße Ⅷ"), "strasse viii");
        check("ＡＰＩ", &["api"]);
        // A letter with its accent written apart is the same letter.
        check("cafe\u{301}", &["café"]);
    }

    #[test]
    fn scripts_without_spaces_become_bigrams() {
        check("日本の法令", &["日本", "本の", "の法", "法令"]);
        check("法", &["法"]);
        check("用GitHub搜索", &["用", "git", "hub", "搜索", "github"]);
    }

    #[test]
    fn inflections_share_a_stem() {
        assert_eq!(stems("creating issues"), stems("create_issue"));
        assert_eq!(stems("портфели"), stems("портфель"));
    }

    #[test]
    fn stop_words_are_sorted_and_marked() {
        assert!(STOP_WORDS.is_sorted());
        assert_eq!(STOP_WORDS.iter().map(|word| word.len()).max(), Some(STOP_WORD_BYTES_MAX));
        assert_eq!(stems("show me the money"), ["show", "money"]);
    }

    #[test]
    fn long_texts_are_cut_on_character_boundaries() {
        assert_eq!(cut("short"), "short");
        for text in ["é".repeat(50_000), format!("{}問", "x".repeat(100_000)), "🦀".repeat(2_000)] {
            let short = cut(&text);
            assert!(short.len() <= QUERY_BYTES && short.len() > QUERY_BYTES - 8);
            assert!(text.ends_with(short.chars().next_back().unwrap()));
            assert_eq!(cut(&short), short);
        }
    }
}

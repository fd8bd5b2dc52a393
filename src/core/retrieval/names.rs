//! Names: which tools a text names, and which words their names are made of.
//!
//! Models and people write a tool's name with another prefix, another case or another separator than we gave it. All
//! ways to write a name fold onto one key; what was written is then compared with the name itself to say how it matched.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::key::{Key, Wanted};
use super::postings::Postings;
use super::shared_map::{Keep, SharedMap};
use super::text::{TermKind, fold, for_each_term};
use crate::core::ids::{Alias, ToolId};

/// What parts a prefix from a name: `mcp__server__tool`, `functions.tool`, `server/tool`, `server:tool`.
const PREFIX_ENDS: [&str; 4] = ["__", ".", "/", ":"];
/// Names longer than this are not looked up; the longest alias or `source/name` is shorter.
const NAME_BYTES_MAX: usize = 256;
/// A word is looked for inside longer words from this length on, in characters.
const INNER_CHARS_MIN: usize = 4;
/// A longer word counts as containing another up to twice its length: `email` for `mail`, not `portfolio` for `port`.
const CONTAINING_FACTOR: usize = 2;
/// Containing words taken a side, in byte order.
const CONTAINING_MAX: usize = 8;

/// How a text names a tool, weakest first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum NameHow {
    /// Equal but for case and separators: `getUser` and `get-user`.
    Folded,
    /// One is the other without its prefix: `ask_codex` and `mcp__plugin_x__ask_codex`.
    Suffix,
    /// The alias, the local name, or `source/name`.
    Exact,
}

/// The tools that a name stands for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NameMatch {
    /// How they are named; all in the same way.
    pub how: NameHow,
    /// At least one; more where the name is ambiguous. Ordered by [`ToolId`].
    pub tools: Vec<ToolId>,
}

/// Slots named in one way, ascending, at least one.
pub(super) type Found = (NameHow, Vec<u32>);

/// What a tool is called.
#[derive(Clone)]
pub(super) struct Name {
    pub(super) id: ToolId,
    pub(super) alias: Alias,
}

/// Looks up the name of the tool in a slot.
type NameAt<'a, 't> = &'a dyn Fn(u32) -> &'t Name;

/// The names of all tools.
#[derive(Clone, Default)]
pub(super) struct Names {
    /// Folded names, aliases and suffixes of both → slots.
    keys: SharedMap<Key, Postings>,
    /// Stems of the words in local names → slots.
    words: SharedMap<Key, Postings>,
    /// The same stems written backwards, so that those with an end in common stand together.
    backwards: SharedMap<Key, Arc<str>>,
}

impl Names {
    pub(super) fn insert(&mut self, slot: u32, name: &Name) {
        for key in keys(name) {
            add(slot, &key, &mut self.keys);
        }
        for word in name_words(&name.id.name) {
            add(slot, &word, &mut self.words);
            let reversed = reverse(&word);
            let reversed = Wanted::new(&reversed);
            self.backwards.get_or_insert(|k| reversed.compare(k), || (reversed.to_key(), word.as_str().into()));
        }
    }

    pub(super) fn remove(&mut self, slot: u32, name: &Name) {
        for key in keys(name) {
            take_out(slot, &key, &mut self.keys);
        }
        for word in name_words(&name.id.name) {
            if take_out(slot, &word, &mut self.words) == Keep::No {
                let reversed = reverse(&word);
                self.backwards.change(|k| Wanted::new(&reversed).compare(k), |_| Keep::No);
            }
        }
    }

    /// Returns the slots that a text names as a whole, all in the strongest way there is.
    pub(super) fn find(&self, text: &str, name_at: NameAt<'_, '_>) -> Option<Found> {
        self.find_if(text, name_at, |_, _| true)
    }

    /// Returns the slots that a piece of a longer text names (see [`mentions`]). A plain word behind a dot or a slash
    /// is taken for the end of a file name or an address, not for a tool.
    pub(super) fn find_mentioned(&self, mention: &str, name_at: NameAt<'_, '_>) -> Option<Found> {
        self.find_if(mention, name_at, |prefix, rest| prefix.ends_with("__") || is_identifier(rest))
    }

    /// `means_name` says of a prefix and the rest whether the rest may be taken for a name by itself.
    fn find_if(&self, text: &str, name_at: NameAt<'_, '_>, means_name: impl Fn(&str, &str) -> bool) -> Option<Found> {
        let text = text.trim();
        if text.is_empty() || text.len() > NAME_BYTES_MAX {
            return None;
        }
        if let Some((strength, slots)) = self.strongest(text, name_at) {
            return Some((strength.how(), slots));
        }
        if text.contains(char::is_whitespace) {
            return None;
        }
        // A prefix we never gave: drop prefixes from the left until the rest is a name.
        for rest in suffixes(text) {
            let prefix = &text[..text.len() - rest.len()];
            if means_name(prefix, rest)
                && let Some((_, slots)) = self.strongest(rest, name_at)
            {
                return Some((NameHow::Suffix, slots));
            }
        }
        None
    }

    fn strongest(&self, text: &str, name_at: NameAt<'_, '_>) -> Option<(Strength, Vec<u32>)> {
        let key = fold_key(text);
        let wanted = Wanted::new(&key);
        let slots = self.keys.get(|k| wanted.compare(k))?.as_slice();
        let strengths = || slots.iter().map(|slot| Strength::of(text, name_at(*slot)));
        let strongest = strengths().max()?;
        let chosen = slots.iter().zip(strengths()).filter(|(_, strength)| *strength == strongest);
        Some((strongest, chosen.map(|(slot, _)| *slot).collect()))
    }

    /// Returns the words of names that begin or end with the given stem, without the stem itself.
    pub(super) fn words_containing(&self, stem: &str) -> Vec<Arc<str>> {
        let n_chars = stem.chars().count();
        if n_chars < INNER_CHARS_MIN {
            return Vec::new();
        }
        let fits = |word: &&Arc<str>| word.len() > stem.len() && word.chars().count() <= CONTAINING_FACTOR * n_chars;
        let wanted = Wanted::new(stem);
        let beginning = self.words.iter_from(|k| wanted.compare(k)).map(|(key, _)| key);
        let beginning = beginning.take_while(|key| wanted.begins(key)).map(Key::text).filter(fits);
        let reversed = reverse(stem);
        let wanted = Wanted::new(&reversed);
        let ending = self.backwards.iter_from(|k| wanted.compare(k));
        let ending = ending.take_while(|(key, _)| wanted.begins(key)).map(|(_, word)| word).filter(fits);
        let mut words: Vec<Arc<str>> =
            beginning.take(CONTAINING_MAX).chain(ending.take(CONTAINING_MAX)).cloned().collect();
        words.sort_unstable();
        words.dedup();
        words
    }

    /// Returns every word of every name with the slots that have it, in byte order.
    pub(super) fn words(&self) -> impl Iterator<Item = (&str, &[u32])> {
        self.words.iter().map(|(word, slots)| (&**word.text(), slots.as_slice()))
    }

    /// Returns every folded name, alias and suffix with the slots it stands for, in byte order.
    pub(super) fn keys(&self) -> impl Iterator<Item = (&str, &[u32])> {
        self.keys.iter().map(|(key, slots)| (&**key.text(), slots.as_slice()))
    }
}

/// How well a text names a tool, weakest first. An alias or qualified name means one tool and beats a local name, which
/// several sources may share.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Strength {
    Folded,
    Suffix,
    LocalName,
    Unique,
}

impl Strength {
    fn of(text: &str, name: &Name) -> Self {
        let Name { id, alias } = name;
        let alias = alias.as_str();
        if text == alias || text == id.to_string() {
            Self::Unique
        } else if text == &*id.name {
            Self::LocalName
        } else if suffixes(&id.name).chain(suffixes(alias)).any(|suffix| suffix == text) {
            Self::Suffix
        } else {
            Self::Folded
        }
    }

    fn how(self) -> NameHow {
        match self {
            Self::Folded => NameHow::Folded,
            Self::Suffix => NameHow::Suffix,
            Self::LocalName | Self::Unique => NameHow::Exact,
        }
    }
}

fn add(slot: u32, key: &str, map: &mut SharedMap<Key, Postings>) {
    let wanted = Wanted::new(key);
    map.get_or_insert(|k| wanted.compare(k), || (wanted.to_key(), Postings::default())).add(slot);
}

/// Says whether the key still has other slots.
fn take_out(slot: u32, key: &str, map: &mut SharedMap<Key, Postings>) -> Keep {
    let wanted = Wanted::new(key);
    let mut keep = Keep::Yes;
    map.change(
        |k| wanted.compare(k),
        |slots| {
            slots.take_out(slot..=slot);
            keep = if slots.is_empty() { Keep::No } else { Keep::Yes };
            keep
        },
    );
    keep
}

/// Returns the keys under which a tool is found.
fn keys(name: &Name) -> BTreeSet<String> {
    let (name, alias, qualified) = (&*name.id.name, name.alias.as_str(), name.id.to_string());
    let whole = [name, alias, qualified.as_str()];
    whole.into_iter().chain(suffixes(name)).chain(suffixes(alias)).map(fold_key).collect()
}

/// Folds case and leaves out separators; a name of separators only stays as it is.
pub(super) fn fold_key(name: &str) -> String {
    let folded: String = fold(name).chars().filter(|c| c.is_alphanumeric()).collect();
    if folded.is_empty() { name.to_owned() } else { folded }
}

/// Returns what is left of a name without one or more prefixes, longest first.
fn suffixes(name: &str) -> impl Iterator<Item = &str> {
    let begins = |at: &usize| PREFIX_ENDS.iter().any(|end| name[..*at].ends_with(end)) && !name[*at..].starts_with('_');
    let starts = name.char_indices().map(|(at, _)| at).skip(1).filter(begins);
    starts.map(|at| &name[at..]).filter(|suffix| suffix.len() > 1)
}

/// Returns the stems of a name's words, once each.
pub(super) fn name_words(name: &str) -> BTreeSet<String> {
    let mut words = BTreeSet::new();
    for_each_term(name, &mut |term, kind| {
        if kind == TermKind::Word {
            words.insert(term.to_owned());
        }
    });
    words
}

fn reverse(word: &str) -> String {
    word.chars().rev().collect()
}

/// Returns the pieces of a text that could only be meant as names: identifiers of several parts, and what stands
/// between backquotes. Names are ASCII, so they end where a script without spaces goes on.
pub(super) fn mentions(text: &str) -> impl Iterator<Item = &str> {
    let is_name_char = |c: char| c.is_ascii_alphanumeric() || is_separator(c);
    let tokens = text.split(move |c| !is_name_char(c) && c != '`');
    tokens.filter_map(|token| {
        let bare = token.trim_matches(|c: char| !c.is_alphanumeric() && c != '_');
        let quoted = token.len() > 2 && token.starts_with('`') && token.ends_with('`');
        (quoted || is_identifier(bare)).then_some(bare)
    })
}

/// Says whether the character may stand between two parts of a name.
fn is_separator(c: char) -> bool {
    matches!(c, '_' | '-' | '.' | '/' | ':')
}

/// Says whether the token has the look of an identifier of several parts rather than of a word.
fn is_identifier(token: &str) -> bool {
    let mut before = None;
    for c in token.chars() {
        let inner_capital = c.is_uppercase() && before.is_some_and(char::is_lowercase);
        if inner_capital || is_separator(c) {
            return true;
        }
        before = Some(c);
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_are_dropped_one_by_one() {
        let all: Vec<&str> = suffixes("mcp__plugin_x__ask_codex").collect();
        assert_eq!(all, ["plugin_x__ask_codex", "ask_codex"]);
        assert_eq!(suffixes("functions.get_user").collect::<Vec<_>>(), ["get_user"]);
        assert_eq!(suffixes("é__ü.").count(), 1);
        assert_eq!(suffixes("plain_name").count(), 0);
    }

    #[test]
    fn identifiers_and_quoted_words_are_mentions() {
        let text = "Call create_issue, then `search` (not find); use getUser. And/or so.";
        assert_eq!(mentions(text).collect::<Vec<_>>(), ["create_issue", "search", "getUser", "And/or"]);
        assert_eq!(mentions("用create_issue创建").collect::<Vec<_>>(), ["create_issue"]);
    }

    #[test]
    fn keys_ignore_case_and_separators() {
        assert_eq!(fold_key("get-User_by.Email"), "getuserbyemail");
        assert_eq!(fold_key("___"), "___");
    }
}

//! What a caller sees of retrieval, and how well it finds on recorded queries.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::core::definition::Json;

mod recorded;

/// Returns a definition with no more than its names and a summary.
pub(super) fn tool(source: &str, name: &str, summary: &str) -> Definition {
    Definition {
        id: ToolId::new(source, name),
        title: None,
        summary: summary.into(),
        when_to_use: String::new(),
        keywords: vec![],
        size_tokens: 0,
        description: String::new(),
        input_schema: Json::from_value(&serde_json::json!({"type": "object"})),
        output_schema: None,
        annotations: None,
        group: String::new(),
        tags: vec![],
        attributes: BTreeMap::new(),
        initial_score: 0.0,
        derived: Default::default(),
    }
}

fn alias(definition: &Definition) -> Alias {
    Alias::new(format!("{}__{}", definition.id.source, definition.id.name))
}

fn index_of(definitions: &[Definition]) -> Index {
    let mut index = Index::default();
    for definition in definitions {
        index.insert(definition, &alias(definition));
    }
    index
}

fn search(index: &Index, user: &str) -> Search {
    index.search(&Query { user, ..Query::default() }, &|_| 0.0, &mut |_| true, 8)
}

fn names_found(index: &Index, user: &str) -> Vec<String> {
    search(index, user).ranked.iter().map(|ranked| ranked.tool.name.to_string()).collect()
}

fn office() -> Index {
    index_of(&[
        tool("github", "create_issue", "Opens an issue in a repository"),
        tool("github", "create_branch", "Makes a branch; issues that mention it are linked"),
        tool("crm", "getUserByEmail", "Looks a person up"),
        tool("crm", "address_book", "Holds the addresses of customers; additional ones can be added"),
        tool("shop", "add_item", "Puts something into the basket"),
        tool("office", "send_email", "Writes to somebody"),
        tool("office", "list_files", "Shows what is in a folder"),
        tool("law", "horei", "日本の法令を検索します"),
        tool("bank", "portfolio", "Показывает портфель пользователя"),
        tool("plugins", "mcp__plugin_x__ask_codex", "Puts a question to another model"),
    ])
}

fn check_first(query: &str, expected: &str) {
    let found = names_found(&office(), query);
    assert_eq!(found.first().map(String::as_str), Some(expected), "{query:?} found {found:?}");
}

#[test]
fn words_are_found_in_identifiers_and_inflections() {
    check_first("creating issues", "create_issue");
    check_first("get user", "getUserByEmail");
    check_first("mail", "send_email");
}

#[test]
fn whole_words_come_before_parts_of_words() {
    check_first("add", "add_item");
}

#[test]
fn scripts_other_than_latin_are_found() {
    check_first("法令", "horei");
    check_first("покажи мой портфель", "portfolio");
}

#[test]
fn a_named_tool_comes_first() {
    for query in [
        "ask_codex",
        "mcp__plugin_x__ask_codex",
        "plugins__mcp__plugin_x__ask_codex",
        "askCodex",
        "functions.ask_codex",
        "please create an issue in the repository with ask_codex, then list files",
        "create an issue with `ask_codex`",
    ] {
        check_first(query, "mcp__plugin_x__ask_codex");
    }
    check_first("issue issue issue via github/create_branch", "create_branch");
}

#[test]
fn every_tool_is_found_first_by_its_name() {
    let index = office();
    for Name { id, alias } in index.slots.names() {
        for name in [&*id.name, alias.as_str(), &id.to_string()] {
            assert_eq!(search(&index, name).ranked[0].tool, *id, "{name}");
        }
    }
}

#[test]
fn empty_and_odd_queries_are_answered() {
    let index = office();
    for nothing in ["", " \n\t", "🦀🦀", "?!…", "\u{0}\u{301}\u{200D}"] {
        assert_eq!(search(&index, nothing), Search::default(), "{nothing:?}");
    }
    let long = "create an issue 問題 ".repeat(6_000);
    assert_eq!(search(&index, &long).ranked[0].tool.name.as_ref(), "create_issue");
    check_first("what is in", "list_files");
    assert_eq!(search(&Index::default(), "create issue"), Search::default());
}

#[test]
fn only_admitted_tools_are_returned_and_asked_for_in_rank_order() {
    let index = office();
    let mut asked = Vec::new();
    let query = Query { user: "create an issue", ..Query::default() };
    let found = index.search(
        &query,
        &|_| 0.0,
        &mut |tool| {
            asked.push(tool.name.to_string());
            &*tool.name != "create_issue"
        },
        1,
    );
    assert_eq!(asked, ["create_issue", "create_branch"]);
    assert_eq!(found.ranked[0].tool.name.as_ref(), "create_branch");
    assert_eq!(found.total, 2);
}

#[test]
fn a_prior_decides_between_equals_and_lifts_nothing_unmatched() {
    let index = index_of(&[tool("a", "find_flat", ""), tool("b", "find_flat", ""), tool("c", "sell_car", "")]);
    let prior = |tool: &ToolId| if &*tool.source == "a" { 0.0 } else { 1e9 };
    let found = index.search(&Query { user: "flat wanted", ..Query::default() }, &prior, &mut |_| true, 8);
    let sources: Vec<&str> = found.ranked.iter().map(|ranked| &*ranked.tool.source).collect();
    assert_eq!(sources, ["b", "a"]);
    for ranked in &found.ranked {
        assert_eq!(ranked.score, ranked.parts.sum());
    }
}

#[test]
fn the_goal_and_the_model_are_searched_too() {
    let index = office();
    let query = Query { goal: "an issue", model: "a branch", ..Query::default() };
    let found = index.search(&query, &|_| 0.0, &mut |_| true, 8);
    assert_eq!(found.ranked[0].tool.name.as_ref(), "create_branch");
}

#[test]
fn names_are_found_in_every_spelling() {
    let index = index_of(&[
        tool("a", "get_user", ""),
        tool("b", "get_user", ""),
        tool("c", "mcp__srv__delete", ""),
        tool("d", "search", ""),
    ]);
    let check = |name: &str, how: NameHow, sources: &[&str]| {
        let found = index.find_name(name).unwrap_or_else(|| panic!("{name} is not found"));
        let found_sources: Vec<&str> = found.tools.iter().map(|tool| &*tool.source).collect();
        assert_eq!((found.how, found_sources.as_slice()), (how, sources), "{name}");
    };
    check("a__get_user", NameHow::Exact, &["a"]);
    check("b/get_user", NameHow::Exact, &["b"]);
    check(" get_user ", NameHow::Exact, &["a", "b"]);
    check("getUser", NameHow::Folded, &["a", "b"]);
    check("functions.get_user", NameHow::Suffix, &["a", "b"]);
    check("mcp__a__get_user", NameHow::Suffix, &["a"]);
    check("delete", NameHow::Suffix, &["c"]);
    check("x/delete", NameHow::Suffix, &["c"]);
    check("Srv-Delete", NameHow::Folded, &["c"]);
    for unknown in ["", "get", "user", "a sentence. search", "🦀", "research"] {
        assert_eq!(index.find_name(unknown), None, "{unknown:?}");
    }
}

#[test]
fn a_plain_word_is_a_name_only_alone_or_between_backquotes() {
    let index = index_of(&[tool("a", "search", "Finds"), tool("a", "book_flight", "Books a flight from a search")]);
    assert_eq!(names_found(&index, "book a flight after a search")[0], "book_flight");
    assert_eq!(names_found(&index, "book a flight after a `search`")[0], "search");
    assert_eq!(names_found(&index, "search")[0], "search");
}

#[test]
fn ends_of_file_names_are_not_tools() {
    let index = index_of(&[tool("a", "pdf", "Renders"), tool("a", "read_file", "Opens a report")]);
    assert_eq!(names_found(&index, "open the file report.pdf")[0], "read_file");
}

#[test]
fn misspelt_and_invented_names_have_near_ones() {
    let index = index_of(&[
        tool("giphy", "image_search", ""),
        tool("web", "search_pages", ""),
        tool("github", "create_issue", ""),
        tool("github", "create_branch", ""),
    ]);
    let near = |name: &str| index.near_names(name, &mut |_| true, 2);
    assert_eq!(near("giphy__image_search_tool")[0], ToolId::new("giphy", "image_search"));
    assert_eq!(near("creat_isue")[0], ToolId::new("github", "create_issue"));
    assert_eq!(near("createissu")[0], ToolId::new("github", "create_issue"));
    assert_eq!(near("🦀"), []);
    let others = index.near_names("create_issue", &mut |tool| &*tool.name != "create_issue", 2);
    assert_eq!(others[0], ToolId::new("github", "create_branch"));
}

#[test]
fn a_clone_stays_as_it_was() {
    let mut index = office();
    let published = index.clone();
    index.remove(&ToolId::new("github", "create_issue"));
    index.insert(&tool("new", "create_issue", "Another"), &Alias::new("new__create_issue"));
    assert_eq!(search(&published, "create_issue").ranked[0].tool.source.as_ref(), "github");
    assert_eq!(search(&index, "create_issue").ranked[0].tool.source.as_ref(), "new");
}

#[test]
fn readers_search_at_once_and_find_the_same() {
    let index = office();
    let expected = search(&index, "create an issue");
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| assert_eq!(search(&index, "create an issue"), expected));
        }
    });
}

/// Few words, so that tools and queries meet often.
const WORDS: [&str; 12] =
    ["create", "issue", "mail", "email", "get", "user", "the", "地図", "検索", "портфель", "list", "report"];

fn any_text(words: std::ops::Range<usize>) -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(&WORDS[..]), words).prop_map(|words| words.join(" "))
}

fn any_tool() -> impl Strategy<Value = Definition> {
    let name =
        prop::sample::select(vec!["create_issue", "getUser", "send_email", "list", "mcp__x__list", "report-user"]);
    (prop::sample::select(vec!["a", "b", "c"]), name, any_text(0..6), any_text(0..9))
        .prop_map(|(source, name, summary, description)| Definition { description, ..tool(source, name, &summary) })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn history_leaves_no_trace_in_ranks(
        history in prop::collection::vec((any_tool(), any::<bool>()), 0..40),
        query in any_text(1..6),
    ) {
        let mut index = Index::default();
        let mut kept: BTreeMap<ToolId, Definition> = BTreeMap::new();
        for (definition, keep) in history {
            if keep {
                index.insert(&definition, &alias(&definition));
                kept.insert(definition.id.clone(), definition);
            } else {
                index.remove(&definition.id);
                kept.remove(&definition.id);
            }
        }
        let afresh = index_of(&kept.into_values().rev().collect::<Vec<_>>());
        prop_assert_eq!(index.len(), afresh.len());
        prop_assert_eq!(index.lexical.size(), afresh.lexical.size());
        prop_assert_eq!(search(&index, &query), search(&afresh, &query));
        prop_assert_eq!(index.find_name("list"), afresh.find_name("list"));
        prop_assert_eq!(index.near_names(&query, &mut |_| true, 9), afresh.near_names(&query, &mut |_| true, 9));
    }

    #[test]
    fn any_text_is_answered(text in "\\PC{0,60}", name in "[a-z_.A-Z]{0,20}") {
        let index = office();
        let found = index.search(&Query { user: &text, model: &name, goal: &text }, &|_| f32::NAN, &mut |_| true, 8);
        prop_assert!(found.ranked.len() <= found.total);
        prop_assert!(found.ranked.is_sorted_by(|a, b| a.score >= b.score));
        let _ = index.find_name(&text);
        prop_assert!(index.near_names(&name, &mut |_| true, 3).len() <= 3);
    }
}

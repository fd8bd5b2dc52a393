//! Standard output: lines, tables, and numbers as people read them.
//!
//! Text from the daemon may hold anything, so characters that move the cursor, turn text round or cannot be seen are shown
//! in writing and never sent to the terminal.

use std::fmt::Display;
use std::io::{self, Write as _};

use super::super::core::admission::text::is_refused;
use comfy_table::{CellAlignment, ColumnConstraint, ContentArrangement, Table, presets};

/// Blanks between two columns.
const GAP: u16 = 2;

/// The narrowest that the last column of a table may be wrapped to.
const WRAPPED_WIDTH: u16 = 24;

/// Whoever read our output has gone, as `head` does: no failure of ours.
#[derive(Debug, thiserror::Error)]
#[error("nobody reads the output any more")]
struct ReaderGone;

/// Returns whether a command ended only because its output was no longer read.
pub(super) fn is_reader_gone(error: &anyhow::Error) -> bool {
    error.is::<ReaderGone>()
}

/// Prints one line.
pub(super) fn print_line(line: &str) -> anyhow::Result<()> {
    print_bytes(format!("{line}\n").as_bytes())
}

/// Prints text for people; adds the last line feed where it is missing.
pub(super) fn print_text(text: &str) -> anyhow::Result<()> {
    let text = text.trim_end_matches('\n');
    if text.is_empty() { Ok(()) } else { print_line(&printable(text)) }
}

/// Prints a remark to standard error, beside the answer; adds the last line feed where it is missing.
pub(super) fn note(text: &str) {
    let text = text.trim_end_matches('\n');
    if !text.is_empty() {
        print_aside(&format!("{}\n", printable(text)));
    }
}

/// Prints to standard error. Where nobody reads that either, nobody is there to be told.
pub(super) fn print_aside(text: &str) {
    let _ = io::stderr().lock().write_all(text.as_bytes());
}

/// Prints bytes as they are.
pub(super) fn print_bytes(bytes: &[u8]) -> anyhow::Result<()> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(bytes).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Err(ReaderGone.into()),
        Err(error) => Err(anyhow::Error::new(error).context("cannot write to standard output")),
        Ok(()) => Ok(()),
    }
}

/// Returns the text with every character written out that is not what it looks like: all that no tool's text may hold, and
/// control characters but line feeds.
pub(super) fn printable(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        if (c.is_control() || is_refused(c)) && c != '\n' {
            shown.extend(c.escape_default());
        } else {
            shown.push(c);
        }
    }
    shown
}

/// A column of a table.
#[derive(Clone, Copy)]
pub(super) enum Column {
    /// For words.
    Left(&'static str),
    /// For numbers.
    Right(&'static str),
}

impl Column {
    fn name(self) -> &'static str {
        match self {
            Self::Left(name) | Self::Right(name) => name,
        }
    }
}

/// Lays out rows under their columns; says `empty` where there are no rows.
///
/// On a terminal that is too narrow the last columns are left out and named, so that those left keep whole names; what
/// is read by a program has every column.
pub(super) fn table(columns: &[Column], rows: Vec<Vec<String>>, empty: &str) -> String {
    if rows.is_empty() {
        return format!("{empty}\n");
    }
    let laid_out = lay_out(columns, &rows);
    let Some(terminal) = laid_out.width() else { return lines(&laid_out) };
    let kept = how_many_fit(&laid_out.column_max_content_widths(), terminal);
    let left_out: Vec<&str> = columns[kept..].iter().map(|column| column.name()).collect();
    if left_out.is_empty() {
        return lines(&laid_out);
    }
    let rows: Vec<Vec<String>> = rows.into_iter().map(|row| row.into_iter().take(kept).collect()).collect();
    let text = lines(&lay_out(&columns[..kept], &rows));
    format!("{text}(no room for: {})\n", left_out.join(", "))
}

fn lay_out(columns: &[Column], rows: &[Vec<String>]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Dynamic);
    table.set_header(columns.iter().map(|column| column.name().to_uppercase()));
    for row in rows {
        table.add_row(row.iter().map(|cell| printable(&cell.replace('\n', " "))));
    }
    let last = columns.len().saturating_sub(1);
    for (index, column) in columns.iter().enumerate() {
        let Some(laid_out) = table.column_mut(index) else { continue };
        laid_out.set_padding((0, GAP));
        if index < last {
            laid_out.set_constraint(ColumnConstraint::ContentWidth);
        }
        if matches!(column, Column::Right(_)) {
            laid_out.set_cell_alignment(CellAlignment::Right);
        }
    }
    table
}

/// Returns how many columns a terminal has room for, at least one: the last of them may be wrapped, the others not.
fn how_many_fit(widths: &[u16], terminal: u16) -> usize {
    let mut before = 0;
    let mut fit = 1;
    for (index, width) in widths.iter().enumerate() {
        if before + (*width).min(WRAPPED_WIDTH) <= terminal {
            fit = index + 1;
        }
        before = before.saturating_add(width + GAP);
    }
    fit
}

fn lines(table: &Table) -> String {
    let mut text = String::new();
    for line in table.lines() {
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// Lays out names and their values, one a line: a value with line breaks must not look like further facts.
pub(super) fn facts(facts: &[(&str, String)]) -> String {
    let width = facts.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    let mut text = String::new();
    for (name, value) in facts {
        if !value.is_empty() {
            text.push_str(&format!("{name:width$}  {}\n", one_line(value)));
        }
    }
    text
}

/// Puts a text into one line.
pub(super) fn one_line(text: &str) -> String {
    text.replace('\n', " ")
}

/// Writes a count with thousands set apart: `26,000`.
pub(super) fn count(n: impl Display) -> String {
    let digits = n.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Returns `part / whole`; `None` where there is nothing to take a share of.
#[allow(clippy::cast_precision_loss, reason = "counts below 2^53; shown with one decimal")]
pub(super) fn ratio(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

/// Writes a share in percent; `-` where there is none.
pub(super) fn percent(share: Option<f64>) -> String {
    share.map_or_else(|| "-".to_owned(), |share| format!("{:.1} %", share * 100.0))
}

/// Writes an enum's name as the log, JSON and metrics do: `TOOL_STATE_ACTIVE` becomes `active`; empty for value 0.
pub(super) fn word(name: &str, prefix: &str) -> String {
    match name.strip_prefix(prefix).unwrap_or(name) {
        "UNSPECIFIED" => String::new(),
        word => word.to_ascii_lowercase(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_set_apart_by_thousands() {
        for (n, expected) in [(0, "0"), (999, "999"), (1_000, "1,000"), (26_000, "26,000"), (1_234_567, "1,234,567")] {
            assert_eq!(count(n), expected);
        }
    }

    #[test]
    fn share_of_nothing_is_no_share() {
        assert_eq!(percent(ratio(0, 0)), "-");
        assert_eq!(percent(ratio(1, 3)), "33.3 %");
    }

    #[test]
    fn control_characters_never_reach_the_terminal() {
        assert_eq!(printable("a\u{1b}[31mb\r\nc"), "a\\u{1b}[31mb\\r\nc");
        for hidden in ['\u{9b}', '\u{202e}', '\u{2066}', '\u{2028}', '\u{200b}', '\u{feff}', '\u{e0041}'] {
            let shown = printable(&format!("a{hidden}b"));
            assert!(!shown.contains(hidden) && shown.contains("\\u{"), "{shown}");
        }
        assert_eq!(printable("naïve 文字 \u{1f600}"), "naïve 文字 \u{1f600}");
    }

    #[test]
    fn a_fact_is_one_line_whatever_its_value_holds() {
        assert_eq!(facts(&[("reason", "mended\nstate  active".into())]), "reason  mended state  active\n");
    }

    #[test]
    fn table_has_no_trailing_blanks_and_numbers_on_the_right() {
        let rows = vec![vec!["ab".into(), "7".into()], vec!["c".into(), "10".into()]];
        assert_eq!(table(&[Column::Left("tool"), Column::Right("n")], rows, "none"), "TOOL   N\nab     7\nc     10\n");
        assert_eq!(table(&[Column::Left("tool")], Vec::new(), "none"), "none\n");
    }

    #[test]
    fn narrow_terminal_shows_whole_names_and_fewer_columns() {
        for (terminal, expected) in [(200, 3), (52, 3), (51, 2), (24, 1), (5, 1)] {
            assert_eq!(how_many_fit(&[20, 4, 60], terminal), expected, "{terminal}");
        }
    }

    #[test]
    fn enum_names_become_the_words_of_the_log() {
        assert_eq!(word("TOOL_STATE_ACTIVE", "TOOL_STATE_"), "active");
        assert_eq!(word("REASON_UNSPECIFIED", "REASON_"), "");
    }
}

//! Tables for people: columns as wide as they need to be, the last one cut at the terminal's edge.

use super::output::Output;
use crate::domain::text::{cut, fit, visible, width};

/// Spaces between columns.
const GAP: &str = "  ";

/// A line of a table; the first column may be painted after it was measured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Row {
    /// The fields as they came; they are made harmless here.
    pub(super) fields: Vec<String>,
    /// A colour for one column: which, and the terminal's number for it.
    pub(super) colour: Option<(usize, &'static str)>,
}

/// A table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Table {
    heads: Vec<&'static str>,
    /// Columns with numbers, which stand at the right.
    numbers: &'static [usize],
    rows: Vec<Row>,
}

impl Table {
    /// A table with these heads; `numbers` are the columns that stand at the right.
    pub(super) fn new(heads: &[&'static str], numbers: &'static [usize]) -> Self {
        Self { heads: heads.to_vec(), numbers, rows: Vec::new() }
    }

    /// Adds a line.
    pub(super) fn push(&mut self, fields: Vec<String>) {
        self.rows.push(Row { fields, colour: None });
    }

    /// Adds a line with one column in a colour.
    pub(super) fn push_coloured(&mut self, fields: Vec<String>, column: usize, colour: &'static str) {
        self.rows.push(Row { fields, colour: Some((column, colour)) });
    }

    /// The table as text, each line with its end.
    pub(super) fn render(&self, output: Output) -> String {
        let rows: Vec<Vec<String>> = self
            .rows
            .iter()
            .map(|row| row.fields.iter().map(|field| visible(field).into_owned()).collect())
            .collect();
        let widths: Vec<usize> = (0..self.heads.len())
            .map(|column| {
                let fields = rows.iter().filter_map(|row| row.get(column)).map(|field| width(field));
                fields.chain([width(self.heads[column])]).max().unwrap_or(0)
            })
            .collect();
        let mut text = String::new();
        let heads: Vec<String> = self.heads.iter().map(|head| (*head).to_owned()).collect();
        text.push_str(&self.line(&heads, &widths, None, output));
        for (row, shown) in self.rows.iter().zip(&rows) {
            text.push_str(&self.line(shown, &widths, row.colour, output));
        }
        text
    }

    fn line(
        &self,
        fields: &[String],
        widths: &[usize],
        colour: Option<(usize, &str)>,
        output: Output,
    ) -> String {
        let mut line = String::new();
        let mut used = 0;
        for (column, (field, &full)) in fields.iter().zip(widths).enumerate() {
            let last = column + 1 == widths.len();
            let room = output.columns.map_or(usize::MAX, |columns| columns.saturating_sub(used));
            let shown = if last {
                cut(field, room, output.ellipsis).into_owned()
            } else if self.numbers.contains(&column) {
                let missing = full.saturating_sub(width(field));
                cut(&format!("{}{field}", " ".repeat(missing)), room, output.ellipsis).into_owned()
            } else {
                fit(field, full.min(room), output.ellipsis)
            };
            used += width(&shown) + GAP.len();
            match colour {
                Some((painted, colour)) if painted == column => {
                    line.push_str(&output.coloured(colour, &shown));
                }
                _ => line.push_str(&shown),
            }
            if !last {
                line.push_str(GAP);
            }
        }
        let mut line = line.trim_end().to_owned();
        line.push('\n');
        line
    }
}

#[cfg(test)]
mod tests {
    use super::super::output::Paint;
    use super::*;
    use crate::config::OutputFormat;

    fn output(columns: Option<usize>) -> Output {
        Output { format: OutputFormat::Text, paint: Paint::Plain, columns, ellipsis: "…" }
    }

    #[test]
    fn columns_are_aligned_and_fields_harmless() {
        let mut table = Table::new(&["ID", "TEXT"], &[0]);
        table.push(vec!["7".to_owned(), "语言".to_owned()]);
        table.push(vec!["1,204".to_owned(), "a\u{1b}[2Jb\nc".to_owned()]);
        assert_eq!(table.render(output(None)), "   ID  TEXT\n    7  语言\n1,204  a\\e[2Jb\\nc\n");
    }

    #[test]
    fn no_line_is_wider_than_the_terminal() {
        let mut table = Table::new(&["ID", "STATE", "TEXT"], &[0]);
        table.push(vec!["7".to_owned(), "QUEUED".to_owned(), "语言".repeat(40)]);
        for columns in 12..60 {
            for line in table.render(output(Some(columns))).lines() {
                assert!(width(line) <= columns, "{columns}: {line}");
            }
        }
    }

    #[test]
    fn a_painted_column_keeps_its_width() {
        let mut table = Table::new(&["STATE", "TEXT"], &[]);
        table.push_coloured(vec!["FAILED".to_owned(), "x".to_owned()], 0, "31");
        let painted = table.render(Output { paint: Paint::Ansi, ..output(None) });
        assert_eq!(painted, "STATE   TEXT\n\u{1b}[31mFAILED\u{1b}[0m  x\n");
    }
}

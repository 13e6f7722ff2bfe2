//! Draws `docs/console.svg`: the real console in a pseudo-terminal, on a private server of its own.
//!
//! `make picture`, or `cargo run --example picture -- target/release/taskdeck docs/console.svg 120 30`.

use std::fmt::Write as _;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

#[path = "../tests/support/terminal.rs"]
#[expect(dead_code, reason = "the picture needs a part of it")]
mod terminal;

use terminal::Terminal;

/// The most that any step may last.
pub(crate) const PATIENCE: Duration = Duration::from_mins(1);

/// Width and height of a cell, in the picture's units.
const CELL: (f32, f32) = (8.43, 18.0);

fn main() {
    let mut arguments = std::env::args().skip(1);
    let mut next = |what: &str| arguments.next().unwrap_or_else(|| panic!("argument missing: {what}"));
    let program = std::fs::canonicalize(next("the program")).expect("the program is built");
    let picture = PathBuf::from(next("the picture's file"));
    let columns: u16 = next("columns").parse().expect("a number of columns");
    let lines: u16 = next("lines").parse().expect("a number of lines");

    let folder = PathBuf::from("/tmp/taskdeck-picture");
    let screen = pose(&program, &folder, columns, lines);
    taskdeck(&program, &folder, &["private", "destroy", "--yes"]);
    std::fs::remove_dir_all(&folder).expect("remove the picture's own folder");
    std::fs::write(&picture, svg(&screen)).expect("write the picture");
}

/// What the workers of the picture run: some texts take their time, one does not heed a cancel, some fail.
const WORK: &str = r#"#!/bin/sh
case "$(cat)" in
    *.csv) echo "line 7: unexpected end of file" >&2; exit 1 ;;
    *fox*) trap '' TERM; sleep 60 ;;
    *draft* | *channels*) sleep 60 ;;
    *) sleep 0.4 ;;
esac
"#;

/// Starts the console, gives it something to show, and returns its screen.
fn pose(program: &Path, folder: &Path, columns: u16, lines: u16) -> vt100::Screen {
    std::fs::create_dir(folder).expect("make the picture's own folder");
    let (work, texts) = (folder.join("work"), folder.join("texts"));
    std::fs::write(&work, WORK).expect("write the work");
    std::fs::set_permissions(&work, Permissions::from_mode(0o755)).expect("make the work a program");
    let invoices: Vec<String> = (2205..2231).map(|number| format!("Re: invoice {number}")).collect();
    std::fs::write(&texts, invoices.join("\n")).expect("write the texts");
    let (data, texts) = (folder.display().to_string(), texts.display().to_string());
    let mut terminal =
        Terminal::open(columns, lines, &[("TASKDECK_DATA_DIR", &data), ("USER", "alice"), ("HOME", "/tmp")]);
    terminal.line(&format!(
        "{} --workers 3 --grace 8s --operator alice --analyser command --exec {}",
        program.display(),
        work.display()
    ));
    terminal.wait_text("samples");
    terminal.keys("n");
    let submit = |arguments: &[&str]| taskdeck(program, folder, &[&["submit"], arguments].concat());
    submit(&["--tenant", "billing", "--lines", &texts]);
    terminal.wait_for("the last invoice", |screen| screen.contains("26  SUCCEEDED"));
    submit(&["--max-attempts", "1", "import 2026-11-28.csv"]);
    terminal.wait_text("27  FAILED");
    submit(&["The quick brown fox jumps over the lazy dog"]);
    submit(&["Go 语言: channels and the select statement"]);
    submit(&["--tenant", "billing", "import 2026-11-29.csv"]);
    terminal.wait_text("30  QUEUED retry");
    submit(&["--tenant", "legal", "Quarterly report, draft two"]);
    terminal.wait_text("31  RUNNING");
    submit(&["--tenant", "legal", "--hold", "Contract §4, third reading"]);
    submit(&["--tenant", "billing", "Re: Re: invoice 2231"]);
    submit(&["hello world"]);
    terminal.wait_text("34  QUEUED");
    terminal.keys("gjjjjjj");
    terminal.wait_text("Task 28");
    taskdeck(program, folder, &["cancel", "28", "--operator", "bob", "--reason", "wrong file"]);
    for text in ["RUNNING canceling", "34  QUEUED", "SUBMITTED", "\"wrong file\""] {
        terminal.wait_text(text);
    }
    let screen = terminal.cells();
    terminal.keys("q");
    terminal.wait_text("drain: claim nothing more");
    terminal.keys("c");
    terminal.wait_for("the shell again", |screen| screen.trim_end().ends_with("shell>"));
    screen
}

/// Runs a command; what it says is shown only where it fails.
fn taskdeck(program: &Path, folder: &Path, arguments: &[&str]) {
    let output = Command::new(program)
        .args(arguments)
        .env("TASKDECK_DATA_DIR", folder)
        .stdin(Stdio::null())
        .output()
        .expect("run the program");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {}: {said}", output.status);
}

fn svg(screen: &vt100::Screen) -> String {
    let (lines, columns) = screen.size();
    let (lines, columns) = (lines.get(), columns.get());
    let (width, height) = (f32::from(columns) * CELL.0 + 16.0, f32::from(lines) * CELL.1 + 16.0);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" \
         font-family=\"ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace\" font-size=\"14\">\n\
         <rect width=\"100%\" height=\"100%\" rx=\"6\" fill=\"#14161b\"/>\n"
    );
    for line in 0..lines {
        let mut column = 0;
        while column < columns {
            let Some(cell) = screen.cell(line, column) else { break };
            let look = Look::of(cell);
            let start = column;
            let mut text = String::new();
            // A run of cells that look alike is one piece of text.
            while let Some(cell) = screen.cell(line, column).filter(|cell| Look::of(cell) == look) {
                if !cell.is_wide_continuation() {
                    text.push_str(if cell.has_contents() { cell.contents() } else { " " });
                }
                column += 1;
            }
            look.draw(&mut svg, line, start, column - start, &text);
        }
    }
    svg.push_str("</svg>\n");
    svg
}

#[derive(Clone, PartialEq)]
struct Look {
    front: String,
    back: Option<String>,
    bold: bool,
    underline: bool,
    opacity: &'static str,
}

impl Look {
    fn of(cell: &vt100::Cell) -> Self {
        let front = colour(cell.fgcolor()).unwrap_or_else(|| "#d8dae0".to_owned());
        let back = colour(cell.bgcolor());
        let (front, back) = if cell.inverse() {
            (back.unwrap_or_else(|| "#14161b".to_owned()), Some(front))
        } else {
            (front, back)
        };
        let opacity = if cell.dim() && !cell.inverse() { "0.6" } else { "1" };
        Self { front, back, bold: cell.bold(), underline: cell.underline(), opacity }
    }

    fn draw(&self, svg: &mut String, line: u16, column: u16, columns: u16, text: &str) {
        let (x, y) = (8.0 + f32::from(column) * CELL.0, 8.0 + f32::from(line) * CELL.1);
        let width = f32::from(columns) * CELL.0;
        if let Some(back) = &self.back {
            write!(
                svg,
                "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{}\" fill=\"{back}\" shape-rendering=\"crispEdges\"/>",
                CELL.1
            )
            .expect("writing to a String cannot fail");
        }
        if text.trim().is_empty() {
            return;
        }
        let weight = if self.bold { " font-weight=\"bold\"" } else { "" };
        let line_under = if self.underline { " text-decoration=\"underline\"" } else { "" };
        let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        writeln!(
            svg,
            "<text x=\"{x:.1}\" y=\"{:.1}\" fill=\"{}\" opacity=\"{}\" textLength=\"{width:.1}\" \
             xml:space=\"preserve\"{weight}{line_under}>{text}</text>",
            y + 13.5,
            self.front,
            self.opacity
        )
        .expect("writing to a String cannot fail");
    }
}

/// The colour as a picture names it; none for the terminal's own.
fn colour(colour: vt100::Color) -> Option<String> {
    const BASIC: [&str; 16] = [
        "#2b2e36", "#e06c75", "#98c379", "#e5c07b", "#61afef", "#c678dd", "#56b6c2", "#d8dae0", "#5c6370",
        "#ef8a92", "#b5e08f", "#f2d08f", "#85c5ff", "#d9a0ea", "#7fd3de", "#ffffff",
    ];
    match colour {
        vt100::Color::Default => None,
        vt100::Color::Idx(index) => Some(BASIC.get(usize::from(index)).unwrap_or(&"#d8dae0").to_string()),
        vt100::Color::Rgb(red, green, blue) => Some(format!("#{red:02x}{green:02x}{blue:02x}")),
    }
}

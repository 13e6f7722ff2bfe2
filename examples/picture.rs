//! Draws `docs/console.svg`: the real console in a pseudo-terminal, on a private server of its own.
//!
//! `make picture`, or `cargo run --example picture -- target/release/taskdeck docs/console.svg 120 30`.

use std::fmt::Write as _;
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

    let folder = PathBuf::from(format!("/tmp/taskdeck-picture-{}", std::process::id()));
    let screen = pose(&program, &folder, columns, lines);
    taskdeck(&program, &folder, &["private", "destroy", "--yes"]);
    std::fs::remove_dir_all(&folder).expect("remove the picture's own folder");
    std::fs::write(&picture, svg(&screen)).expect("write the picture");
}

/// Starts the console, gives it something to show, and returns its screen.
fn pose(program: &Path, folder: &Path, columns: u16, lines: u16) -> vt100::Screen {
    std::fs::create_dir(folder).expect("make the picture's own folder");
    let data = folder.display().to_string();
    let mut terminal =
        Terminal::open(columns, lines, &[("TASKDECK_DATA_DIR", &data), ("USER", "alice"), ("HOME", "/tmp")]);
    terminal.line(&format!("{} --workers 3 --work-delay 4s --operator alice", program.display()));
    terminal.wait_text("sample");
    terminal.keys("y");
    terminal.wait_text("SUCCEEDED");
    for (queue, text) in [
        ("default", "Quarterly report, draft two"),
        ("default", "Go 语言: channels and the select statement"),
        ("mail", "Re: Re: invoice 2231"),
        ("default", "import 2026-11-29.csv\nsecond line"),
        ("default", "The quick brown fox jumps over the lazy dog, again and again"),
        ("default", "hello world"),
    ] {
        taskdeck(program, folder, &["submit", "--queue", queue, "--tenant", "billing", text]);
    }
    taskdeck(program, folder, &["submit", "--hold", "Contract §4, third reading"]);
    terminal.wait_for("a held task and running ones", |screen| {
        screen.contains("SUBMITTED") && screen.matches("RUNNING").count() >= 2
    });
    terminal.keys("jjj");
    terminal.wait_text("RUNNING on");
    let screen = terminal.cells();
    terminal.keys("qc");
    terminal.wait_for("the shell again", |screen| screen.contains("shell> "));
    screen
}

fn taskdeck(program: &Path, folder: &Path, arguments: &[&str]) {
    let status = Command::new(program)
        .args(arguments)
        .env("TASKDECK_DATA_DIR", folder)
        .stdout(Stdio::null())
        .stderr(Stdio::inherit())
        .status()
        .expect("run the program");
    assert!(status.success(), "{arguments:?}: {status}");
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
                "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{}\" fill=\"{back}\"/>",
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

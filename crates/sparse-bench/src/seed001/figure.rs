//! A figure: series of points by one axis, as a table, JSON Lines and a plot.

use crate::report::plot::{self, Axes};
use anyhow::{Context as _, Result};
use serde::Serialize;
use std::io::Write;
use std::path::Path;

/// Series of points by one axis.
#[derive(Debug)]
pub(super) struct Figure {
    name: &'static str,
    title: String,
    x: &'static str,
    y: &'static str,
    series: Vec<Series>,
    notes: Vec<String>,
}

#[derive(Debug)]
struct Series {
    name: String,
    points: Vec<(f64, f64)>,
    /// False for what only the table has.
    drawn: bool,
}

/// A point as a line of JSON.
#[derive(Serialize)]
struct Record<'a> {
    figure: &'a str,
    series: &'a str,
    x: f64,
    of: &'a str,
    value: f64,
    unit: &'a str,
}

impl Figure {
    /// A figure without series; `x` and `y` name the axes with their units.
    pub(super) fn new(
        name: &'static str,
        title: impl Into<String>,
        x: &'static str,
        y: &'static str,
    ) -> Self {
        Self { name, title: title.into(), x, y, series: vec![], notes: vec![] }
    }

    /// Adds a point to a series, which begins with its first point.
    pub(super) fn add(&mut self, series: impl AsRef<str>, x: f64, y: f64) {
        self.of(series.as_ref(), true).points.push((x, y));
    }

    /// Adds a point to a series that only the table has.
    pub(super) fn add_to_table(&mut self, series: impl AsRef<str>, x: f64, y: f64) {
        self.of(series.as_ref(), false).points.push((x, y));
    }

    /// Adds a line below the table.
    pub(super) fn note(&mut self, note: impl Into<String>) {
        self.notes.push(note.into());
    }

    /// The value of a series at `x`, if it has one.
    pub(super) fn value(&self, series: &str, x: f64) -> Option<f64> {
        let series = self.series.iter().find(|known| known.name == series)?;
        series.points.iter().find(|point| point.0 == x).map(|point| point.1)
    }

    fn of(&mut self, name: &str, drawn: bool) -> &mut Series {
        let position = self.series.iter().position(|known| known.name == name).unwrap_or_else(|| {
            self.series.push(Series { name: name.into(), points: vec![], drawn });
            self.series.len() - 1
        });
        &mut self.series[position]
    }

    /// Prints the table: a line for each series, a column for each x.
    pub(super) fn print(&self) {
        println!("\n{}: {}; {}", self.name, self.title, self.y);
        let mut columns: Vec<f64> = self.series.iter().flat_map(|s| s.points.iter().map(|p| p.0)).collect();
        columns.sort_by(f64::total_cmp);
        columns.dedup();
        let width =
            self.series.iter().map(|series| series.name.chars().count()).fold(self.x.len(), usize::max);
        let cells = |cells: Vec<String>| cells.iter().map(|cell| format!(" {cell:>9}")).collect::<String>();
        println!("  {:<width$}{}", self.x, cells(columns.iter().map(|&x| short(x)).collect()));
        for series in &self.series {
            let value = |x: &f64| self.value(&series.name, *x).map_or("-".into(), short);
            println!("  {:<width$}{}", series.name, cells(columns.iter().map(value).collect()));
        }
        self.notes.iter().for_each(|note| println!("  {note}"));
    }

    /// Writes a line of JSON for each point.
    pub(super) fn write(&self, json: &mut impl Write) -> Result<()> {
        for series in &self.series {
            for &(x, value) in &series.points {
                let (figure, series) = (self.name, &series.name);
                let record = Record { figure, series, x, of: self.x, value, unit: self.y };
                serde_json::to_writer(&mut *json, &record)?;
                writeln!(json)?;
            }
        }
        Ok(json.flush()?)
    }

    /// Draws what is above zero, if there is anything, to `seed-001-NAME.svg` in a folder, which is made.
    pub(super) fn draw(&self, folder: &Path) -> Result<()> {
        std::fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
        let drawn = self.series.iter().filter(|series| series.drawn).map(|series| plot::Series {
            name: series.name.clone(),
            points: series.points.iter().copied().filter(|point| point.0 > 0.0 && point.1 > 0.0).collect(),
            joined: true,
            marked: true,
        });
        let drawn: Vec<_> = drawn.filter(|series| !series.points.is_empty()).collect();
        if drawn.is_empty() {
            return Ok(());
        }
        let axes = Axes { caption: self.title.clone(), x: self.x, y: self.y };
        plot::write_lines(&folder.join(format!("seed-001-{}.svg", self.name)), &axes, &drawn)
    }
}

/// A number in up to nine characters, with four digits or more.
fn short(number: f64) -> String {
    match number.abs() {
        magnitude if number.fract() == 0.0 && magnitude < 1e8 => format!("{number}"),
        magnitude if magnitude >= 1000.0 => format!("{number:.0}"),
        magnitude if magnitude >= 10.0 => format!("{number:.1}"),
        magnitude if magnitude >= 0.01 => format!("{number:.3}"),
        _ => format!("{number:.2e}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_is_written_and_drawn_with_every_point() {
        let mut figure = Figure::new("ratio", "total time", "ratio", "ms");
        for (x, y) in [(0.01, 2.5), (0.5, 40.0)] {
            figure.add("cpu", x, y);
            figure.add_to_table("MB moved", x, y / 2.0);
        }
        assert_eq!((figure.value("cpu", 0.5), figure.value("cpu", 0.1)), (Some(40.0), None));
        let mut json = vec![];
        figure.write(&mut json).unwrap();
        let text = String::from_utf8(json).unwrap();
        let first = r#"{"figure":"ratio","series":"cpu","x":0.01,"of":"ratio","value":2.5,"unit":"ms"}"#;
        assert_eq!((text.lines().count(), text.lines().next()), (4, Some(first)));
        let folder = tempfile::tempdir().unwrap();
        figure.draw(folder.path()).unwrap();
        let drawn = std::fs::read_to_string(folder.path().join("seed-001-ratio.svg")).unwrap();
        // Two points, and the mark in the legend.
        assert_eq!(drawn.matches("<circle").count(), 3);
    }

    #[test]
    fn numbers_are_short() {
        let numbers = [0.0, 6000.0, 12345.6, 123.456, 0.123456, 0.00012345];
        assert_eq!(numbers.map(short), ["0", "6000", "12346", "123.5", "0.123", "1.23e-4"]);
    }
}

//! A figure: series of points by one axis, as a table, JSON Lines and a plot.

use crate::report::plot::{self, Axes};
use anyhow::{Context as _, Result};
use serde::{Deserialize, Serialize};
use std::io::Write;
use std::path::Path;

/// Series of points by one axis.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Figure {
    #[serde(rename = "figure")]
    name: String,
    title: String,
    x: String,
    y: String,
    series: Vec<Series>,
    notes: Vec<String>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Series {
    name: String,
    points: Vec<(f64, f64)>,
    /// False for what only the table has.
    drawn: bool,
}

impl Figure {
    /// A figure without series; `x` and `y` name the axes with their units.
    pub(super) fn new(name: &str, title: impl Into<String>, x: &str, y: &str) -> Self {
        let (name, x, y) = (name.into(), x.into(), y.into());
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

    /// Writes a line of JSON.
    pub(super) fn write(&self, json: &mut impl Write) -> Result<()> {
        serde_json::to_writer(&mut *json, self)?;
        writeln!(json)?;
        Ok(json.flush()?)
    }

    /// The figures that were written to a file; `None` if its first line is not that of a figure.
    pub(super) fn read(path: &Path) -> Result<Option<Vec<Self>>> {
        let text =
            std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
        let figures: Vec<serde_json::Result<Self>> = text.lines().map(serde_json::from_str).collect();
        if matches!(figures.first(), None | Some(Err(_))) {
            return Ok(None);
        }
        let number = |(k, figure): (usize, serde_json::Result<Self>)| {
            figure.with_context(|| format!("{}: line {}: no figure", path.display(), k + 1))
        };
        figures.into_iter().enumerate().map(number).collect::<Result<_>>().map(Some)
    }

    /// Draws the values above zero, if there are any, to `seed-001-NAME.svg` in a folder, which is created.
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
        let axes = Axes { caption: self.title.clone(), x: &self.x, y: &self.y };
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
    fn a_figure_is_written_read_and_drawn_with_every_point() {
        let mut figure = Figure::new("ratio", "total time", "ratio", "ms");
        for (x, y) in [(0.01, 2.5), (0.5, 40.0)] {
            figure.add("cpu", x, y);
            figure.add_to_table("MB moved", x, y / 2.0);
        }
        assert_eq!((figure.value("cpu", 0.5), figure.value("cpu", 0.1)), (Some(40.0), None));
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("figures.jsonl");
        figure.write(&mut std::fs::File::create(&path).unwrap()).unwrap();
        let read = Figure::read(&path).unwrap().unwrap();
        assert_eq!((read.len(), read[0].value("MB moved", 0.5)), (1, Some(20.0)));
        std::fs::write(&path, "{}").unwrap();
        assert!(Figure::read(&path).unwrap().is_none());
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

//! SVG plots of a report: a roofline, ratios by matrix, and scaling with size.

mod bars;
mod drawing;
mod points;

use super::row::{Row, best, peers};
use anyhow::{Context as _, Result};
use bars::Group;
use drawing::Area;
use plotters::prelude::*;
pub(crate) use points::{Axes, Series};
use std::path::Path;

/// Writes the plots of all operations into a folder, which is made. `limit` is in bytes a second.
pub(super) fn write(rows: &[Row], limit: f64, folder: &Path) -> Result<()> {
    std::fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let mut ops: Vec<&str> = rows.iter().map(|row| row.op.as_str()).collect();
    ops.dedup();
    ops.sort_unstable();
    ops.dedup();
    for op in ops {
        let rows: Vec<_> = rows.iter().filter(|row| row.op == op).cloned().collect();
        let path = |kind: &str| folder.join(format!("{kind}-{}.svg", op.replace([' ', '='], "-")));
        let title = |what: &str| format!("{op}: {what}");
        if rows.iter().any(|row| row.flops > 0) {
            let axes = Axes { caption: title("roofline"), x: "flop a byte", y: "Gflop/s" };
            write_lines(&path("roofline"), &axes, &roofline(&rows, limit))?;
        }
        let axes = Axes { caption: title("scaling with size"), x: "entries", y: "GB/s" };
        write_lines(&path("scaling"), &axes, &scaling(&rows))?;
        let groups = ratios(&rows);
        if groups.iter().any(|group| !group.bars.is_empty()) {
            save(&path("ratios"), bars::size(&groups), |area| {
                bars::draw(area, &title("times over ours"), &groups)
            })?;
        }
    }
    Ok(())
}

/// Writes a plot of lines by two logarithmic axes.
pub(crate) fn write_lines(path: &Path, axes: &Axes<'_>, series: &[Series]) -> Result<()> {
    save(path, (900, 600), |area| points::draw(area, axes, series))
}

fn save(path: &Path, size: (u32, u32), draw: impl FnOnce(&Area<'_>) -> Result<()>) -> Result<()> {
    let mut text = String::new();
    draw(&SVGBackend::with_string(&mut text, size).into_drawing_area())?;
    std::fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}

/// The libraries with ours first, each with the best of its rows on every workload.
fn libraries(rows: &[Row]) -> Vec<(&str, Vec<&Row>)> {
    let names = std::iter::once(super::row::OURS).chain(peers(rows));
    let of = |name| rows.chunk_by(|a, b| a.case() == b.case()).filter_map(|case| best(case, name)).collect();
    names.map(|name| (name, of(name))).collect()
}

fn series(rows: &[Row], point: impl Fn(&Row) -> (f64, f64)) -> Vec<Series> {
    let of = |(name, rows): (&str, Vec<&Row>)| Series {
        name: name.into(),
        points: rows.into_iter().map(&point).collect(),
        joined: false,
        marked: true,
    };
    libraries(rows).into_iter().map(of).collect()
}

/// Arithmetic intensity and speed, under the line of the bandwidth.
fn roofline(rows: &[Row], limit: f64) -> Vec<Series> {
    let intensity = |row: &Row| row.flops as f64 / row.bytes as f64;
    let mut series = series(rows, |row| (intensity(row), row.flops as f64 / row.seconds.median / 1e9));
    let least = rows.iter().map(intensity).fold(f64::INFINITY, f64::min) / 1.5;
    let most = rows.iter().map(intensity).fold(0.0, f64::max) * 1.5;
    let roof = [least, most].map(|intensity| (intensity, intensity * limit / 1e9));
    series.insert(
        0,
        Series { name: "bytes at full speed".into(), points: roof.into(), joined: true, marked: false },
    );
    series
}

/// The speed over the number of entries.
fn scaling(rows: &[Row]) -> Vec<Series> {
    let mut series = series(rows, |row| (row.entries as f64, row.bytes_per_second / 1e9));
    for series in &mut series {
        series.points.sort_by(|a, b| a.0.total_cmp(&b.0));
        series.joined = true;
    }
    series
}

/// The best of each library on each workload, over ours.
fn ratios(rows: &[Row]) -> Vec<Group> {
    let of_case = |case: &[Row]| Group {
        name: case[0].workload.clone(),
        bars: peers(case)
            .into_iter()
            .filter_map(|library| Some((library.to_string(), best(case, library)?.ratio)))
            .collect(),
    };
    rows.chunk_by(|a, b| a.case() == b.case()).map(of_case).collect()
}

#[cfg(test)]
mod tests {
    use super::super::row::tests::row;
    use super::*;

    #[test]
    fn every_plot_is_written_with_what_was_measured() {
        let rows: Vec<_> = ["arxiv", "ddi"]
            .into_iter()
            .flat_map(|name| {
                ["ours", "mkl:csrmv", "mkl:inspector", "scipy"].map(|c| row("spmv", name, c, [0.5; 3]))
            })
            .collect();
        let folder = tempfile::tempdir().unwrap();
        write(&rows, 1e10, folder.path()).unwrap();
        let text = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
        // Two workloads with three libraries each, and a mark in the legend for each library and the roof.
        assert_eq!(text("roofline-spmv.svg").matches("<circle").count(), 2 * 3 + 3 + 1);
        assert_eq!(text("scaling-spmv.svg").matches("<circle").count(), 2 * 3 + 3);
        let bars = text("ratios-spmv.svg");
        assert!(bars.contains("arxiv") && bars.contains("mkl") && bars.contains("scipy"));
    }
}

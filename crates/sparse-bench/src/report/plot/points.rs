//! Points by two logarithmic axes, some of them joined to lines.

use super::drawing::{Area, Drawn, draw_legend, drawn};
use anyhow::Result;
use plotters::prelude::*;

/// The part of the width that the legend takes.
const LEGEND: f64 = 0.4;

/// Points of one colour.
pub(crate) struct Series {
    pub(crate) name: String,
    pub(crate) points: Vec<(f64, f64)>,
    /// True if a line joins them.
    pub(crate) joined: bool,
    /// True if each has a mark.
    pub(crate) marked: bool,
}

/// The labels of the axes, and the title.
pub(crate) struct Axes<'a> {
    pub(crate) caption: String,
    pub(crate) x: &'a str,
    pub(crate) y: &'a str,
}

pub(super) fn draw(area: &Area<'_>, axes: &Axes<'_>, series: &[Series]) -> Result<()> {
    drawn(draw_series(area, axes, series))
}

fn draw_series<'a>(area: &Area<'a>, axes: &Axes<'_>, series: &[Series]) -> Drawn<'a> {
    area.fill(&WHITE)?;
    let points = || series.iter().flat_map(|series| &series.points);
    let mut chart = ChartBuilder::on(area)
        .caption(&axes.caption, ("sans-serif", 18))
        .margin(10)
        .x_label_area_size(40)
        .y_label_area_size(64)
        .build_cartesian_2d(
            range(points().map(|point| point.0), LEGEND).log_scale(),
            range(points().map(|point| point.1), 0.1).log_scale(),
        )?;
    chart.configure_mesh().x_desc(axes.x).y_desc(axes.y).light_line_style(WHITE).draw()?;
    for (number, Series { name, points, joined, marked }) in series.iter().enumerate() {
        let color = Palette99::pick(number).to_rgba();
        if *joined {
            chart.draw_series([PathElement::new(points.clone(), color.stroke_width(2))])?;
        }
        let marks = points.iter().filter(|_| *marked).map(|&point| Circle::new(point, 4, color.filled()));
        chart
            .draw_series(marks)?
            .label(name)
            .legend(move |(x, y)| Circle::new((x + 10, y), 4, color.filled()));
    }
    draw_legend(&mut chart)?;
    area.present()
}

/// The least span of a logarithmic axis: on shorter ones plotters looks for labels without end.
const MIN_SPAN: f64 = 10.0;

/// A range around all values, with a margin on both sides, above with the fraction `spare` of the whole.
fn range(values: impl Iterator<Item = f64>, spare: f64) -> std::ops::Range<f64> {
    let (least, most) =
        values.fold((f64::INFINITY, 0.0_f64), |(least, most), value| (least.min(value), most.max(value)));
    let (begin, end) = (least / 1.5, most * 1.5 * (most / least).powf(spare));
    let widen = (MIN_SPAN * begin / end).max(1.0).sqrt();
    begin / widen..end * widen
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_axis_spans_all_values_and_at_least_a_decade() {
        let span = |values: &[f64], spare| {
            let range = range(values.iter().copied(), spare);
            assert!(values.iter().all(|value| range.contains(value)), "{range:?}");
            range.end / range.start
        };
        assert!(span(&[1.2e6], LEGEND) > MIN_SPAN * 0.99);
        assert!(span(&[3.0, 5.0], 0.1) > MIN_SPAN * 0.99);
        assert!(span(&[1.0, 1e4], 0.1) > 2e4);
    }
}

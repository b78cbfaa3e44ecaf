//! Types of a drawing, and its errors.

use anyhow::{Result, anyhow};
use plotters::coord::CoordTranslate;
use plotters::prelude::*;

/// A drawing in progress.
pub(super) type Area<'a> = DrawingArea<SVGBackend<'a>, plotters::coord::Shift>;
/// The result of a drawing.
pub(super) type Drawn<'a> = Result<(), DrawingAreaErrorKind<<SVGBackend<'a> as DrawingBackend>::ErrorType>>;

/// The result with an error that says so.
pub(super) fn drawn(result: Drawn<'_>) -> Result<()> {
    result.map_err(|error| anyhow!("drawing: {error}"))
}

/// Draws the labels of all series in the upper right corner.
pub(super) fn draw_legend<'a, C: CoordTranslate>(
    chart: &mut ChartContext<'a, SVGBackend<'a>, C>,
) -> Drawn<'a> {
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperRight)
        .border_style(BLACK)
        .background_style(WHITE.mix(0.8))
        .draw()
}

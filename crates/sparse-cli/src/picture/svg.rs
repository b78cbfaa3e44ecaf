//! SVG, with axes that count rows and columns.

use super::Raster;
use plotters::prelude::*;

/// Pixels of the longer side of the plot.
const PLOT: usize = 720;
/// Pixels left for labels.
const MARGIN: usize = 64;

/// The picture of a raster over a matrix of `rows` × `cols`, under a caption.
pub(crate) fn write(raster: &Raster, (rows, cols): (usize, usize), caption: &str) -> anyhow::Result<String> {
    let mut text = String::new();
    draw(
        &SVGBackend::with_string(&mut text, size(raster)).into_drawing_area(),
        raster,
        (rows, cols),
        caption,
    )
    .map_err(|error| anyhow::anyhow!("drawing: {error}"))?;
    Ok(text)
}

fn size(raster: &Raster) -> (u32, u32) {
    let longest = raster.width.max(raster.height);
    let side = |bins: usize| (bins * PLOT / longest).max(1) + 2 * MARGIN;
    (side(raster.width) as u32, side(raster.height) as u32)
}

fn draw<'a>(
    area: &DrawingArea<SVGBackend<'a>, plotters::coord::Shift>,
    raster: &Raster,
    (rows, cols): (usize, usize),
    caption: &str,
) -> Result<(), DrawingAreaErrorKind<<SVGBackend<'a> as DrawingBackend>::ErrorType>> {
    area.fill(&WHITE)?;
    let (across, down) = (cols.max(1) as f64, rows.max(1) as f64);
    let mut chart = ChartBuilder::on(area)
        .caption(caption, ("sans-serif", 16))
        .margin(8)
        .x_label_area_size(32)
        .y_label_area_size(56)
        .build_cartesian_2d(0.0..across, down..0.0)?;
    chart.configure_mesh().disable_mesh().x_desc("column").y_desc("row").draw()?;
    let (step_x, step_y) = (across / raster.width as f64, down / raster.height as f64);
    let bins = (0..raster.height).flat_map(|y| (0..raster.width).map(move |x| (x, y)));
    chart.draw_series(bins.filter(|&(x, y)| raster.count(x, y) > 0).map(|(x, y)| {
        let (left, top) = (x as f64 * step_x, y as f64 * step_y);
        Rectangle::new([(left, top), (left + step_x, top + step_y)], BLACK.mix(raster.shade(x, y)).filled())
    }))?;
    area.present()
}

#[cfg(test)]
mod tests {
    use super::*;
    use nnz::Csr;

    #[test]
    fn every_full_bin_is_a_rectangle() {
        let raster = Raster::of_csr(Csr::identity(5).unwrap(), 10);
        let blank = Raster::of_csr(Csr::zeros(5, 5).unwrap(), 10);
        let rectangles = |raster| write(raster, (5, 5), "a").unwrap().matches("<rect").count();
        assert_eq!(rectangles(&raster), rectangles(&blank) + 5);
    }
}

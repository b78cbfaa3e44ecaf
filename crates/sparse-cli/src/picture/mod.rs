//! Pictures of a pattern: entries are counted in bins, and the bins drawn.

mod png;
mod raster;
mod svg;
mod terminal;

pub(crate) use png::write as write_png;
pub(crate) use raster::Raster;
pub(crate) use svg::write as write_svg;
pub(crate) use terminal::draw as draw_text;

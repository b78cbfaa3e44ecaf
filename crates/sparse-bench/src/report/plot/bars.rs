//! Groups of bars, from one up or down on a logarithmic axis.

use super::drawing::{Area, Drawn, draw_legend, drawn};
use anyhow::Result;
use plotters::prelude::*;

/// Groups that are as wide as the legend.
const LEGEND: f64 = 1.6;

/// The bars of one workload.
pub(super) struct Group {
    pub(super) name: String,
    pub(super) bars: Vec<(String, f64)>,
}

/// Pixels of a picture for all groups.
pub(super) fn size(groups: &[Group]) -> (u32, u32) {
    (250 + 110 * groups.len() as u32, 500)
}

pub(super) fn draw(area: &Area<'_>, caption: &str, groups: &[Group]) -> Result<()> {
    drawn(draw_groups(area, caption, groups))
}

fn draw_groups<'a>(area: &Area<'a>, caption: &str, groups: &[Group]) -> Drawn<'a> {
    area.fill(&WHITE)?;
    let names = names(groups);
    let ratios = || groups.iter().flat_map(|group| group.bars.iter().map(|bar| bar.1));
    let (least, most) = (ratios().fold(0.5, f64::min) / 1.2, ratios().fold(2.0, f64::max) * 2.0);
    let width = groups.len() as f64;
    let mut chart = ChartBuilder::on(area)
        .caption(caption, ("sans-serif", 18))
        .margin(10)
        .y_label_area_size(56)
        .build_cartesian_2d(0.0..width + LEGEND, (least..most).log_scale())?;
    chart.configure_mesh().disable_x_mesh().light_line_style(WHITE).draw()?;
    for (number, name) in names.iter().enumerate() {
        let color = Palette99::pick(number + 1).to_rgba();
        let width = 0.8 / names.len() as f64;
        let bars = groups.iter().enumerate().flat_map(|(place, group)| {
            let left = place as f64 + 0.1 + width * number as f64;
            let of_name = group.bars.iter().filter(|bar| &bar.0 == name);
            of_name.map(move |bar| Rectangle::new([(left, 1.0), (left + width, bar.1)], color.filled()))
        });
        chart
            .draw_series(bars)?
            .label(name)
            .legend(move |(x, y)| Rectangle::new([(x, y - 5), (x + 14, y + 5)], color.filled()));
    }
    chart.draw_series([PathElement::new([(0.0, 1.0), (width, 1.0)], BLACK)])?;
    chart.draw_series(groups.iter().enumerate().map(|(place, group)| {
        Text::new(group.name.clone(), (place as f64 + 0.1, most / 1.1), ("sans-serif", 14))
    }))?;
    draw_legend(&mut chart)?;
    area.present()
}

/// The names of all bars, each once.
fn names(groups: &[Group]) -> Vec<String> {
    let mut names: Vec<String> = vec![];
    for (name, _) in groups.iter().flat_map(|group| &group.bars) {
        if !names.contains(name) {
            names.push(name.clone());
        }
    }
    names
}

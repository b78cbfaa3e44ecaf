//! Links between the pages of the repository.

use super::repository;
use std::fs;
use std::path::{Path, PathBuf};

/// The pages below a folder.
fn pages(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let (folders, files): (Vec<_>, Vec<_>) = entries.partition(|path| path.is_dir());
    let mut pages: Vec<_> =
        files.into_iter().filter(|path| path.extension().is_some_and(|e| e == "md")).collect();
    pages.extend(folders.iter().flat_map(|folder| pages_of(folder)));
    pages
}

fn pages_of(folder: &Path) -> Vec<PathBuf> {
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    if name.starts_with(['.', '_']) || name.starts_with("target") { vec![] } else { pages(folder) }
}

/// The anchor that GitHub gives a heading.
fn anchor(heading: &str) -> String {
    let is_anchor_character = |c: &char| c.is_alphanumeric() || [' ', '-', '_'].contains(c);
    heading
        .trim_start_matches('#')
        .trim()
        .to_lowercase()
        .chars()
        .filter(is_anchor_character)
        .collect::<String>()
        .replace(' ', "-")
}

/// Why a link of the page leads nowhere, if it does.
fn problem(page: &Path, text: &str, link: &str) -> Option<String> {
    let (path, place) = link.split_once('#').map_or((link, None), |(path, place)| (path, Some(place)));
    let target = if path.is_empty() { page.to_path_buf() } else { page.with_file_name("").join(path) };
    if !target.exists() {
        return Some(format!("{}: no {link}", page.display()));
    }
    let other =
        if path.is_empty() { text.to_string() } else { fs::read_to_string(&target).unwrap_or_default() };
    let found = place.is_none_or(|place| {
        other.lines().filter(|line| line.starts_with('#')).any(|heading| anchor(heading) == place)
    });
    (!found).then(|| format!("{}: no heading {link}", page.display()))
}

#[test]
fn every_link_leads_somewhere() {
    let pages = pages(&repository(""));
    assert!(pages.len() > 15, "{pages:?}");
    let mut problems = vec![];
    for page in &pages {
        let text = fs::read_to_string(page).unwrap();
        let links = text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
        let own = links.filter(|link| !link.contains("://") && !link.contains(char::is_whitespace));
        problems.extend(own.filter_map(|link| problem(page, &text, link)));
    }
    assert!(problems.is_empty(), "{problems:#?}");
}

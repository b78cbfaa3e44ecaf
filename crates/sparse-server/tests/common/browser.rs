//! Headless Chromium.

use std::path::Path;
use std::process::Command;

/// The browser of this machine; without one, its tests say that they check nothing.
#[allow(clippy::print_stderr, reason = "a test that checks nothing says so")]
pub(crate) fn chromium() -> Option<&'static str> {
    let names = ["chromium", "chromium-browser", "google-chrome", "chrome-headless-shell"];
    let found = names.into_iter().find(|name| Command::new(name).arg("--version").output().is_ok());
    if found.is_none() {
        eprintln!("skipped: there is none of {}", names.join(", "));
    }
    found
}

pub(crate) fn browse(browser: &str, profile: &Path, arguments: &[&str]) -> String {
    let always = [
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--virtual-time-budget=4000",
        "--window-size=1280,1150",
    ];
    let profile = format!("--user-data-dir={}", profile.display());
    let output = Command::new(browser).args(always).arg(profile).args(arguments).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

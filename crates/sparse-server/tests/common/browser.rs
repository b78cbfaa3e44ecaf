//! Headless Chromium.

use std::path::Path;
use std::process::Command;

pub(crate) fn chromium() -> Option<&'static str> {
    let names = ["chromium", "chromium-browser", "google-chrome"];
    names.into_iter().find(|name| Command::new(name).arg("--version").output().is_ok())
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

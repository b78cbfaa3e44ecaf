//! The page in headless Chromium, where there is one. `NNZ_SCREENSHOT` names a file for a picture of it.

#[path = "common/browser.rs"]
mod browser;
#[allow(dead_code, reason = "each test file uses a part")]
mod common;
#[path = "common/driver.rs"]
mod driver;

use browser::{browse, chromium};
use common::{MTX, NPY, Running, mtx, npy};
use driver::Page;
use sparse_server::Config;

#[test]
fn the_page_shows_what_the_server_has() {
    let data = tempfile::tempdir().unwrap();
    let mut config = Config::new(data.path(), 64 << 20);
    // All requests are slow, but for those of the page in its picture.
    let picture = std::env::var_os("NNZ_SCREENSHOT");
    config.limits.slow_time = std::time::Duration::from_millis(picture.iter().map(|_| 3).sum());
    let server = Running::start(config);
    let page = server.send("GET /", &[], &[]).expect(200);
    assert!(page.head.contains("content-security-policy: default-src 'none'"), "{}", page.head);
    assert!(!page.text().contains("NONCE") && !page.text().contains("http://"), "no template, no other site");
    let Some(browser) = chromium() else { return };

    // A five-point stencil, and a band that is far from the diagonal.
    let side = 40;
    let at = |row: usize, col: usize| row * side + col;
    let mut entries = vec![];
    for (row, col) in (0..side).flat_map(|row| (0..side).map(move |col| (row, col))) {
        entries.push((at(row, col), at(row, col), 4.0));
        entries.extend((col > 0).then(|| (at(row, col), at(row, col - 1), -1.0)));
        entries.extend((row > 0).then(|| (at(row, col), at(row - 1, col), -1.0)));
    }
    let n = side * side;
    server.send("PUT /v1/matrices/stencil?durable=1", &[MTX], &mtx(n, n, &entries)).expect(201);
    server.send("PUT /v1/matrices/stack", &[NPY], &npy(&[3, 2, 2], &[1.0; 12])).expect(201);
    let job = server.send(
        "POST /v1/matrices/stencil/solve?method=gmres&async=1",
        &[NPY],
        &npy(&[n], &vec![1.0; n]),
    );
    let id = job.expect(202).json()["id"].as_str().unwrap().to_owned();
    server.send(&format!("GET /v1/jobs/{id}?wait=20"), &[], &[]).expect(200);

    if picture.is_some() {
        server.send("PUT /v1/aliases/best?to=stencil@1", &[], &[]).expect(201);
    }
    let (profile, url) = (data.path().join("profile"), format!("http://{}/#stencil@1", server.address));
    let dom = browse(browser, &profile, &["--dump-dom", &url]);
    for shown in [
        "stencil@1</button>",
        "3 members",
        "1600 × 1600",
        ">Longest row</dt><dd>3</dd>",
        &format!("Forget job {id}"),
        "<option>trisolve</option>",
    ] {
        assert!(dom.contains(shown), "`{shown}` is missing: {dom}");
    }
    let slow = "<td class=\"\">PUT /v1/matrices/{name}</td><td class=\"\">stack</td>";
    assert!(picture.is_some() || dom.contains(slow), "{dom}");
    assert!(
        dom.contains(r#"aria-label="Pattern of stencil@1: 4720 entries in 1600 rows and 1600 columns""#),
        "{dom}"
    );
    assert!(dom.contains(r#"id="message" class="problem" role="alert"></span>"#), "no error: {dom}");
    if let Some(file) = picture {
        let picture = format!("--screenshot={}", file.display());
        browse(browser, &profile, &[&picture, &url]);
    }
}

#[test]
fn an_alias_is_set_and_removed_by_the_keyboard() {
    let Some(browser) = chromium() else { return };
    let data = tempfile::tempdir().unwrap();
    let server = Running::start(Config::new(data.path(), 1 << 20));
    server.send("PUT /v1/matrices/a", &[MTX], &mtx(2, 2, &[(0, 0, 1.0)])).expect(201);
    let url = format!("http://{}/", server.address);
    let mut page = Page::open(browser, &data.path().join("profile"), &url);
    let rows = "document.getElementById('aliases')?.innerText.trim().replace(/\\s+/g, ' ')";
    let said = "document.getElementById('alias-result').textContent";
    let aliases = || server.send("GET /v1/aliases", &[], &[]).expect(200).json()["aliases"].clone();
    page.await_value(rows, "none");

    // From field to field, a space for the box, and Enter on the button.
    page.value("document.getElementById('alias').focus()");
    page.type_and_tab("best");
    page.type_and_tab("a@1");
    page.press(" ", 32, " ");
    page.press("Tab", 9, "");
    page.press("Enter", 13, "\r");
    page.await_value(rows, "best a@1 yes Change Remove");
    page.await_value(said, "Alias best points to a@1");
    assert_eq!(aliases(), serde_json::json!([{ "name": "best", "target": "a@1", "durable": true }]));
    let accessible = page.accessible();
    for (role, name) in [
        ("textbox", "Alias"),
        ("combobox", "Points to"),
        ("checkbox", "Durable"),
        ("button", "Set alias"),
        ("button", "Remove alias best"),
        ("status", ""),
    ] {
        assert!(accessible.contains(&(role.into(), name.into())), "{role} {name}: {accessible:?}");
    }

    // `Change` fills the form in; what is refused is said.
    page.value("document.querySelector('[aria-label=\"Change alias best\"]').focus()");
    page.press("Enter", 13, "\r");
    page.type_and_tab("b");
    page.press("Tab", 9, "");
    page.press("Enter", 13, "\r");
    page.await_value(&format!("{said}.startsWith('there is no matrix `b`')"), true);
    assert_eq!(aliases()[0]["target"], "a@1");

    page.value("document.querySelector('[aria-label=\"Remove alias best\"]').focus()");
    page.press("Enter", 13, "\r");
    page.await_value(rows, "none");
    page.await_value(said, "Alias best is removed");
    page.await_value("document.activeElement.id", "alias");
    assert_eq!(aliases(), serde_json::json!([]));
}

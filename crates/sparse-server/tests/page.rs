//! The page in headless Chromium, where there is one. `NNZ_SCREENSHOT` names a file for a picture of it.

#[path = "common/browser.rs"]
mod browser;
#[allow(dead_code, reason = "each test file uses a part")]
mod common;
#[path = "common/driver.rs"]
mod driver;

use browser::{browse, chromium};
use common::{Client, MTX, NPY, Running, mtx, npy};
use driver::Page;
use sparse_server::{Config, Scope, new_token};

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
    assert!(
        !page.text().contains("NONCE")
            && !page.text().contains("NEEDS_TOKEN")
            && !page.text().contains("http://"),
        "no template, no other site"
    );
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
        "1,600 × 1,600",
        ">Longest row</dt><dd>3</dd>",
        &format!("Forget job {id}"),
        "<option>trisolve</option>",
    ] {
        assert!(dom.contains(shown), "`{shown}` is missing: {dom}");
    }
    let slow = "<td class=\"name\">PUT /v1/matrices/{name}</td><td class=\"name\">stack</td>";
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

/// The bytes by which the page is wider than its window.
const TOO_WIDE: &str = "Math.max(0, document.documentElement.scrollWidth - innerWidth)";

#[test]
fn much_and_long_names_and_large_numbers_have_space() {
    let Some(browser) = chromium() else { return };
    let data = tempfile::tempdir().unwrap();
    let server = Running::start(Config::new(data.path(), 64 << 30));
    let mut client = Client::new(server.address);
    let long = "a-name-of-128-letters-".repeat(6)[..128].to_owned();
    for name in (0..499).map(|k| format!("m{k}")).chain([long.clone()]) {
        let body = mtx(1, 2_000_000_000, &[(0, 1_999_999_999, 1e300)]);
        client.send(&format!("PUT /v1/matrices/{name}?durable=0"), &[MTX], &body).unwrap().expect(201);
    }
    client
        .send(&format!("PUT /v1/aliases/alias-{}?to={long}@1", &long[..100]), &[], &[])
        .unwrap()
        .expect(201);
    let url = format!("http://{}/#{long}@1", server.address);
    let mut page = Page::open(browser, &data.path().join("profile"), &url);
    page.await_value("document.getElementById('count')?.textContent", "500 in all");
    page.await_value("document.getElementById('details').textContent.includes('Longest row1')", true);
    let shape = "document.querySelector('#matrices .number').textContent";
    assert_eq!(page.value(shape), "1 × 2,000,000,000");
    for (width, is_dark) in [(1280, false), (1280, true), (400, false), (400, true)] {
        page.show(width, is_dark);
        page.await_value(TOO_WIDE, 0);
    }
    // All of them are in a part of the page, which the keyboard scrolls.
    let height = "document.querySelector('#matrices').closest('[tabindex]').clientHeight < innerHeight";
    assert_eq!(page.value(height), true);
    page.value("document.getElementById('filter').focus()");
    page.type_and_tab("letters");
    page.await_value("document.getElementById('count').textContent", "1 of 500");
    page.await_value("document.querySelectorAll('#matrices tr').length", 1);
    assert_eq!(page.value("document.querySelectorAll('#matrix option').length"), 500, "the form has all");

    let (urls, log) = page.events();
    let server_url = format!("http://{}/", server.address);
    assert!(urls.iter().all(|url| url.starts_with(&server_url) || url.starts_with("data:")), "{urls:?}");
    assert!(log.is_empty(), "{log:?}");
}

#[test]
fn failures_are_said_in_words() {
    let Some(browser) = chromium() else { return };
    let data = tempfile::tempdir().unwrap();
    let mut server = Running::start(Config::new(data.path(), 1 << 20));
    server.send("PUT /v1/matrices/a", &[MTX], &mtx(2, 2, &[(0, 0, 2.0)])).expect(201);
    let url = format!("http://{}/", server.address);
    let mut page = Page::open(browser, &data.path().join("profile"), &url);
    page.await_value("document.getElementById('matrix')?.value", "a@1");
    page.await_value("document.getElementById('operation').value", "spmv");
    let result = "document.getElementById('result').textContent";
    for (operand, said) in [
        ("1, two", "Operand: numbers are needed"),
        ("1, 2, 3", "the number of rows of the operand is 3 where 2 is needed"),
        ("3, 4", "shape (2,)\n6, 0"),
    ] {
        page.value(
            "document.getElementById('operand').value = ''; document.getElementById('operand').focus()",
        );
        page.type_and_tab(operand);
        page.press("Enter", 13, "\r");
        page.await_value(&format!("{result}.includes({})", serde_json::json!(said)), true);
    }
    // A matrix that is gone meanwhile is said where its pattern would be, and stays said.
    page.value("void (window.ofA = document.querySelector('#matrices button'))");
    server.send("DELETE /v1/matrices/a", &[], &[]).expect(204);
    page.value("ofA.click()");
    page.await_value("/^a@1: there is no matrix/.test(document.getElementById('details').textContent)", true);
    let empty = "document.querySelector('#matrices').textContent";
    page.await_value(empty, "none");
    assert_eq!(page.value("document.getElementById('details').textContent.startsWith('a@1: ')"), true);
    server.stop();
    page.await_value("document.getElementById('message').textContent", "The server does not answer");
    let (_, log) = page.events();
    assert!(log.iter().all(|event| event["method"] == "Log.entryAdded"), "nothing was thrown: {log:?}");
}

#[test]
fn a_token_is_asked_for_and_one_that_is_wrong_is_sent_once() {
    let Some(browser) = chromium() else { return };
    let data = tempfile::tempdir().unwrap();
    let (token, line) = new_token("lab", &[Scope::Read]).unwrap();
    let file = data.path().join("tokens");
    std::fs::write(&file, line).unwrap();
    let server = Running::start(Config { tokens: Some(file), ..Config::new(data.path(), 1 << 20) });
    let mut page = Page::open(browser, &data.path().join("profile"), &format!("http://{}/", server.address));
    let message = "document.getElementById('message')?.textContent";
    page.await_value(message, "Enter a token");
    page.await_value("document.querySelectorAll('#operation option').length > 10", true);
    let asked = |page: &mut Page| page.events().0.iter().filter(|url| url.ends_with("/v1/status")).count();
    assert!(asked(&mut page) == 0 && page.events().1.is_empty(), "{:?}", page.events());
    page.value("document.getElementById('token').focus()");
    page.type_and_tab("nnz_00");
    page.await_value(&format!("{message}.includes('with a token of this server is needed')"), true);
    std::thread::sleep(std::time::Duration::from_millis(2500));
    assert_eq!(asked(&mut page), 1);
    page.value("document.getElementById('token').value = ''; document.getElementById('token').focus()");
    page.type_and_tab(&token);
    page.await_value("/tenant lab$/.test(document.getElementById('device').textContent)", true);
    page.await_value(message, "");
    let without = Running::start(Config::new(data.path().join("other"), 1 << 20));
    let mut page =
        Page::open(browser, &data.path().join("other-profile"), &format!("http://{}/", without.address));
    page.await_value("document.getElementById('token-label')?.hidden", true);
}

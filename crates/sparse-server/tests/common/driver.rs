//! Headless Chromium that a test drives by the keyboard, over the pipes of the DevTools protocol.

use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

/// A page in a browser that ends with the value.
pub(crate) struct Page {
    browser: Child,
    requests: ChildStdin,
    answers: BufReader<ChildStdout>,
    session: Option<String>,
    last: u64,
    /// Messages, errors and requests of the page.
    events: Vec<Value>,
}

impl Page {
    pub(crate) fn open(browser: &str, profile: &Path, url: &str) -> Self {
        // Requests are read from descriptor 3, and answers written to 4.
        let mut browser = Command::new("sh")
            .args(["-c", r#"exec "$0" "$@" 3<&0 4>&1 >&2"#, browser])
            .args(["--headless", "--no-sandbox", "--disable-gpu", "--window-size=1280,1150"])
            .args(["--remote-debugging-pipe", &format!("--user-data-dir={}", profile.display())])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let (requests, answers) = (browser.stdin.take().unwrap(), browser.stdout.take().unwrap());
        let answers = BufReader::new(answers);
        let mut page = Self { browser, requests, answers, session: None, last: 0, events: vec![] };
        let target = page.call("Target.createTarget", json!({ "url": "about:blank" }))["targetId"].clone();
        let session = page.call("Target.attachToTarget", json!({ "targetId": target, "flatten": true }));
        page.session = session["sessionId"].as_str().map(str::to_owned);
        for domain in ["Log", "Network", "Page", "Runtime"] {
            page.call(&format!("{domain}.enable"), json!({}));
        }
        page.call("Page.navigate", json!({ "url": url }));
        page
    }

    /// Gives the window a width, and a dark scheme of colours or a light one.
    pub(crate) fn show(&mut self, width: u32, is_dark: bool) {
        let size = json!({ "width": width, "height": 900, "deviceScaleFactor": 1, "mobile": false });
        self.call("Emulation.setDeviceMetricsOverride", size);
        let value = if is_dark { "dark" } else { "light" };
        let media = json!({ "features": [{ "name": "prefers-color-scheme", "value": value }] });
        self.call("Emulation.setEmulatedMedia", media);
    }

    /// The addresses that the page has requested so far, and what it has logged or thrown.
    pub(crate) fn events(&mut self) -> (Vec<String>, Vec<Value>) {
        // What has happened by now is read.
        self.value("0");
        let requested = |event: &&Value| event["method"] == "Network.requestWillBeSent";
        let url = |event: &Value| event["params"]["request"]["url"].as_str().unwrap().to_owned();
        // Recommendations and the like are verbose.
        let is_log = |event: &&Value| {
            let names = ["Log.entryAdded", "Runtime.consoleAPICalled", "Runtime.exceptionThrown"];
            event["params"]["entry"]["level"] != "verbose"
                && names.iter().any(|name| event["method"] == *name)
        };
        let urls = self.events.iter().filter(requested).map(url).collect();
        (urls, self.events.iter().filter(is_log).cloned().collect())
    }

    fn call(&mut self, method: &str, parameters: Value) -> Value {
        self.last += 1;
        let mut request = json!({ "id": self.last, "method": method, "params": parameters });
        if let Some(session) = &self.session {
            request["sessionId"] = session.as_str().into();
        }
        self.requests.write_all(format!("{request}\0").as_bytes()).unwrap();
        loop {
            let mut message = vec![];
            self.answers.read_until(0, &mut message).unwrap();
            let end = message.len().checked_sub(1).expect("the browser answers");
            let mut message: Value = serde_json::from_slice(&message[..end]).unwrap();
            if message["id"] == self.last {
                assert!(message["error"].is_null(), "{method}: {message}");
                return message["result"].take();
            }
            self.events.push(message);
        }
    }

    /// The value of an expression in the page.
    pub(crate) fn value(&mut self, expression: &str) -> Value {
        let found = self.call("Runtime.evaluate", json!({ "expression": expression, "returnByValue": true }));
        assert!(found["exceptionDetails"].is_null(), "{expression}: {found}");
        found["result"]["value"].clone()
    }

    /// Waits until an expression has this value.
    #[track_caller]
    pub(crate) fn await_value(&mut self, expression: &str, expected: impl Into<Value>) {
        let (began, expected) = (Instant::now(), expected.into());
        loop {
            let found = self.value(expression);
            if found == expected {
                return;
            }
            if began.elapsed() > Duration::from_secs(20) {
                let text = self.value("document.body.innerText");
                panic!("{expression}: {found}, not {expected}: {text}");
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Presses a key: its name, and the character that it types, if it does.
    pub(crate) fn press(&mut self, key: &str, code: u32, text: &str) {
        let event = |kind: &str| json!({ "type": kind, "key": key, "windowsVirtualKeyCode": code });
        let mut down = event("keyDown");
        if !text.is_empty() {
            down["text"] = text.into();
        }
        self.call("Input.dispatchKeyEvent", down);
        self.call("Input.dispatchKeyEvent", event("keyUp"));
    }

    /// Types a text where the focus is, and goes on to the next element.
    pub(crate) fn type_and_tab(&mut self, text: &str) {
        self.call("Input.insertText", json!({ "text": text }));
        self.press("Tab", 9, "");
    }

    /// The role and name of each element that a screen reader is told of.
    pub(crate) fn accessible(&mut self) -> Vec<(String, String)> {
        let tree = self.call("Accessibility.getFullAXTree", json!({}));
        let text = |node: &Value, part: &str| node[part]["value"].as_str().unwrap_or_default().to_owned();
        let nodes = tree["nodes"].as_array().unwrap().iter();
        nodes.map(|node| (text(node, "role"), text(node, "name"))).collect()
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.browser.kill();
        let _ = self.browser.wait();
    }
}

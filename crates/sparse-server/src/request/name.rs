//! Names of tenants, objects and versions.

/// Checks a name, which becomes a part of addresses, logs and keys.
pub(crate) fn check(what: &str, name: &str) -> Result<(), String> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    let begins_well = name.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_');
    if begins_well && name.len() <= 128 && name.chars().all(is_plain) {
        return Ok(());
    }
    Err(format!(
        "{what} `{}`: 1 to 128 letters, digits, `.`, `_` and `-` are needed, the first a letter, digit or `_`",
        name.chars().take(128).collect::<String>().escape_debug()
    ))
}

/// Splits `name` or `name@version`.
pub(crate) fn parse(text: &str) -> Result<(&str, Option<u64>), String> {
    let (name, version) = match text.split_once('@') {
        None => (text, None),
        Some((name, version)) => {
            // One version has one name: `+1` and `01` are none.
            let number = version.parse::<u64>().ok().filter(|number| number.to_string() == version);
            let wrong = || format!("version `{}`: a number such as 3 is needed", version.escape_debug());
            (name, Some(number.ok_or_else(wrong)?))
        }
    };
    check("name", name)?;
    Ok((name, version))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_leave_no_folder_and_no_line() {
        assert_eq!(parse("a-1.b@12"), Ok(("a-1.b", Some(12))));
        for wrong in
            ["", "..", ".a", "a/b", "a\nb", "a@", "a@-1", "a@1@2", "a@+1", "a@01", "é", &"a".repeat(129)]
        {
            assert!(parse(wrong).is_err(), "{wrong:?}");
        }
    }
}

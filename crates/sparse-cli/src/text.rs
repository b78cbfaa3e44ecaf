//! Numbers and tables for people.

/// A number of bytes with a binary prefix: `1.5 MiB`.
pub(crate) fn bytes(count: u64) -> String {
    const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    if count < 1024 {
        return format!("{count} B");
    }
    let mut value = count as f64 / 1024.0;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    format!("{value:.1} {}", UNITS[unit])
}

/// Reads a number of bytes, with or without a binary prefix: `4096`, `512MiB`, `1.5GiB`.
pub(crate) fn parse_bytes(text: &str) -> Result<u64, String> {
    const UNITS: [(&str, u32); 5] = [("KiB", 10), ("MiB", 20), ("GiB", 30), ("TiB", 40), ("B", 0)];
    let ending = |&&(unit, _): &&(&str, u32)| text.ends_with(unit);
    let (unit, shift) = UNITS.iter().find(ending).copied().unwrap_or(("", 0));
    let bytes = text[..text.len() - unit.len()].trim_end().parse::<f64>();
    let bytes = bytes.map(|number| number * (1_u64 << shift) as f64).unwrap_or(f64::NAN);
    if (0.0..u64::MAX as f64).contains(&bytes) {
        return Ok(bytes as u64);
    }
    Err("a number of bytes is needed, as in 4096, 512MiB or 1.5GiB".into())
}

/// Lines of columns, each as wide as its widest cell; the first column is left-aligned, the others right-aligned.
pub(crate) fn table(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width_of = |k: usize| rows.iter().filter_map(|row| row.get(k)).map(|cell| cell.chars().count()).max();
    let widths: Vec<usize> = (0..columns).map(|k| width_of(k).unwrap_or(0)).collect();
    let line = |row: &Vec<String>| {
        let cells = row.iter().zip(&widths).enumerate();
        let padded: Vec<String> = cells
            .map(
                |(k, (cell, &width))| {
                    if k == 0 { format!("{cell:<width$}") } else { format!("{cell:>width$}") }
                },
            )
            .collect();
        padded.join("  ").trim_end().to_string()
    };
    rows.iter().map(line).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_have_a_readable_unit() {
        assert_eq!(bytes(1023), "1023 B");
        assert_eq!(bytes(1536), "1.5 KiB");
        assert_eq!(bytes(3 << 30), "3.0 GiB");
        assert_eq!(bytes(u64::MAX), "16.0 EiB");
    }

    #[test]
    fn bytes_are_read_with_their_unit() {
        assert_eq!(parse_bytes("4096"), Ok(4096));
        assert_eq!(parse_bytes("3 GiB"), Ok(3 << 30));
        assert_eq!(parse_bytes("1.5KiB"), Ok(1536));
        assert_eq!(parse_bytes("7B"), Ok(7));
        for wrong in ["", "MiB", "-1", "1MB", "nan", "inf", "1e30"] {
            assert!(parse_bytes(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn columns_are_aligned() {
        let rows = [vec!["a".into(), "10".into()], vec!["long".into(), "7".into()]];
        assert_eq!(table(&rows), "a     10\nlong   7");
    }
}

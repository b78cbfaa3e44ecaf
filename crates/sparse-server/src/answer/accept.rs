//! The forms of answers that clients take, by `Accept`.

use crate::problem::Problem;
use crate::request::media::{MTX, NPY, NPZ};
use axum::http::{HeaderMap, StatusCode, header};
use nnz::io::FileKind;

const JSON: &str = "application/json";
pub(crate) const PNG: &str = "image/png";

/// The kind of file in which a matrix is answered, by `Accept`.
pub(crate) fn accepted_kind(headers: &HeaderMap) -> Result<FileKind, Problem> {
    let accept = Accept::of(headers);
    accept.best().ok_or_else(|| {
        let wished = accept.text.escape_debug();
        let detail = format!("Accept `{wished}`: one of {NPZ}, {NPY} (dense) and {MTX} can be had");
        Problem::new(StatusCode::NOT_ACCEPTABLE, "not-acceptable", detail)
    })
}

/// The forms of results.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ResultForm {
    /// The kind of file of a matrix.
    pub(crate) kind: FileKind,
    /// True if a picture is PNG, and not JSON.
    pub(crate) is_png: bool,
}

impl ResultForm {
    /// True if a batch can be answered in the kind of file.
    pub(crate) fn holds_batches(self) -> bool {
        self.kind == FileKind::Npz
    }
}

/// The forms of results by `Accept`, as [`accepted_kind`] chooses that of a matrix; JSON is for results that are
/// numbers, and PNG, if it is liked better, for pictures.
pub(crate) fn accepted_form(headers: &HeaderMap) -> Result<ResultForm, Problem> {
    let accept = Accept::of(headers);
    let [json, png] = [JSON, PNG].map(|media| accept.quality(media));
    let is_png = match (json, png) {
        (Some((json, _)), Some((png, _))) => png > json,
        (json, png) => json.is_none() && png.is_some(),
    };
    match accepted_kind(headers) {
        Err(_) if json.is_some() || png.is_some() => Ok(ResultForm { kind: FileKind::Npz, is_png }),
        kind => kind.map(|kind| ResultForm { kind, is_png }),
    }
}

/// The names in the header of a client, in small letters, with their qualities, 0 to 1.
pub(crate) fn qualities(text: &str) -> Vec<(String, f32)> {
    let ranges = text.split(',').map(|range| {
        let mut parts = range.split(';').map(|part| part.trim().to_ascii_lowercase());
        let name = parts.next().unwrap_or_default();
        let quality = parts.find_map(|part| part.strip_prefix("q=")?.parse().ok());
        (name, quality.unwrap_or(1.0))
    });
    ranges.collect()
}

/// The media types that a client takes.
struct Accept {
    text: String,
    ranges: Vec<(String, f32)>,
}

impl Accept {
    fn of(headers: &HeaderMap) -> Self {
        let values: Vec<_> =
            headers.get_all(header::ACCEPT).iter().filter_map(|it| it.to_str().ok()).collect();
        let text = values.join(",");
        // A header without a type asks for none in particular.
        let names_none = text.chars().all(|symbol| symbol == ',' || symbol.is_whitespace());
        let text = if names_none { "*/*".into() } else { text };
        Self { ranges: qualities(&text), text }
    }

    /// The quality of a type by the range that fits it best, and the position of that; none if it is not taken.
    fn quality(&self, media: &str) -> Option<(f32, usize)> {
        let group = media.split('/').next().unwrap_or("");
        [media, &format!("{group}/*"), "*/*"]
            .into_iter()
            .find_map(|range| {
                let position = self.ranges.iter().position(|(found, _)| found == range)?;
                Some((self.ranges[position].1, position))
            })
            .filter(|(quality, _)| *quality > 0.0)
    }

    /// The kind of the highest quality; of those that are equal, the one that is named first.
    fn best(&self) -> Option<FileKind> {
        let kinds = [FileKind::Npz, FileKind::MatrixMarket, FileKind::Npy];
        let mut taken: Vec<_> =
            kinds.into_iter().filter_map(|kind| Some((self.quality(media_of(kind))?, kind))).collect();
        taken.sort_by(|((a, at), _), ((b, bt), _)| b.total_cmp(a).then(at.cmp(bt)));
        taken.first().map(|(_, kind)| *kind)
    }
}

pub(crate) fn media_of(kind: FileKind) -> &'static str {
    match kind {
        FileKind::Npz => NPZ,
        FileKind::Npy => NPY,
        FileKind::MatrixMarket => MTX,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;

    #[test]
    fn the_best_kind_that_is_accepted_is_chosen() {
        let headers = |accept| HeaderMap::from_iter([(header::ACCEPT, HeaderValue::from_static(accept))]);
        for (accept, kind) in [
            ("*/*", FileKind::Npz),
            ("", FileKind::Npz),
            (" , ", FileKind::Npz),
            ("text/*", FileKind::MatrixMarket),
            ("Application/X-Npy, application/x-npz", FileKind::Npy),
            ("application/x-npy;q=0.5, application/x-npz;q=0.9", FileKind::Npz),
            ("*/*;q=0.1, application/x-npy", FileKind::Npy),
            ("*/*, application/x-npz;q=0", FileKind::MatrixMarket),
        ] {
            assert_eq!(accepted_kind(&headers(accept)).unwrap(), kind, "{accept}");
        }
        for json in
            ["application/json;q=0.9", "application/json; charset=utf-8", "text/plain, application/JSON"]
        {
            assert!(accepted_kind(&headers(json)).is_err(), "{json}");
            let form = ResultForm { kind: FileKind::Npz, is_png: false };
            assert_eq!(accepted_form(&headers(json)).unwrap(), form, "{json}");
        }
        for none in ["text/html", "application/json;q=0", "application/x-npz;q=0"] {
            assert!(accepted_form(&headers(none)).is_err(), "{none}");
        }
        for (accept, is_png) in [
            ("image/png", true),
            ("image/*", true),
            ("*/*", false),
            ("application/json;q=0.5, image/png", true),
            ("image/png, application/json", false),
            ("image/png, */*;q=0.1", true),
        ] {
            assert_eq!(accepted_form(&headers(accept)).unwrap().is_png, is_png, "{accept}");
        }
        assert_eq!(accepted_kind(&HeaderMap::new()).unwrap(), FileKind::Npz);
    }
}

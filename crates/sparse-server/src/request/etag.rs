//! Entity tags in the conditions of requests: `If-Match` and `If-None-Match`.

use axum::http::header::HeaderName;
use axum::http::{HeaderMap, HeaderValue};

/// The tags of a condition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Tags {
    /// `*`
    Any,
    /// Entity tags, with their quotes.
    List(Vec<String>),
}

impl Tags {
    /// The tags of a header, if it is there.
    pub(crate) fn of(headers: &HeaderMap, name: HeaderName) -> Option<Self> {
        let mut list = vec![];
        for value in headers.get_all(name) {
            list.extend(value.to_str().unwrap_or("").split(',').map(|tag| tag.trim().to_owned()));
        }
        match &list[..] {
            [] => None,
            [any] if any == "*" => Some(Self::Any),
            _ => Some(Self::List(list)),
        }
    }

    /// True if a tag is among them. Versions never change, so that a weak tag is as good as a strong one.
    pub(crate) fn contain(&self, tag: &HeaderValue) -> bool {
        match self {
            Self::Any => true,
            Self::List(tags) => tags.iter().any(|known| known.strip_prefix("W/").unwrap_or(known) == tag),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::header::IF_MATCH;

    #[test]
    fn tags_are_compared_as_they_are_written() {
        let tags = |text| {
            let headers = HeaderMap::from_iter([(IF_MATCH, HeaderValue::from_static(text))]);
            Tags::of(&headers, IF_MATCH).unwrap()
        };
        let tag = HeaderValue::from_static("\"3\"");
        for same in ["*", "\"3\"", "\"1\", \"3\"", "W/\"3\""] {
            assert!(tags(same).contain(&tag), "{same}");
        }
        for other in ["", "3", "\"30\"", "\"1\",\"2\""] {
            assert!(!tags(other).contain(&tag), "{other}");
        }
        assert_eq!(Tags::of(&HeaderMap::new(), IF_MATCH), None);
    }
}

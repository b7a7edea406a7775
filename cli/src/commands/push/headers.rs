//! The headers of requests, among them tokens: from files and the environment, never from
//! the command line, which everybody on the machine can read.

use crate::outcome::Failure;
use std::{io::Read, path::Path};
use ureq::http::{HeaderName, HeaderValue};

/// OpenTelemetry's own variables: `key=value,key=value`, with `%20` for a space.
const VARIABLES: [&str; 2] = ["OTEL_EXPORTER_OTLP_PROFILES_HEADERS", "OTEL_EXPORTER_OTLP_HEADERS"];
/// Longer files are no files of headers.
const LONGEST: u64 = 64 << 10;

/// A header: its name and its value.
pub type HttpHeader = (String, String);

/// The headers that are sent, those of the file before those of the environment.
///
/// # Errors
/// When the file cannot be read, or something is no header.
pub fn all(
    header_file: Option<&Path>,
    token_file: Option<&Path>,
) -> Result<Vec<HttpHeader>, Failure> {
    let mut headers = Vec::new();
    if let Some(path) = token_file {
        let token = read(path)?;
        if token.trim().is_empty() {
            return Err(Failure::new(format!("{}: no token in it", path.display())));
        }
        headers.push(("authorization".to_owned(), format!("Bearer {}", token.trim())));
    }
    if let Some(path) = header_file {
        for (at, line) in read(path)?.lines().enumerate() {
            if line.trim().is_empty() {
                continue;
            }
            // The line may be a secret: it is not told.
            let Some(header) = header(line.split_once(':')) else {
                let (path, line) = (path.display(), at + 1);
                return Err(Failure::new(format!("{path}: line {line} is not `Name: value`")));
            };
            headers.push(header);
        }
    }
    let set = |name: &&'static str| {
        let text = std::env::var(name).ok().filter(|text| !text.trim().is_empty())?;
        Some((*name, text))
    };
    let variable = VARIABLES.iter().find_map(set);
    if let Some((name, text)) = variable {
        let of_variable = of_variable(&text)
            .ok_or_else(|| Failure::new(format!("${name} is not key=value,key=value")))?;
        headers.extend(of_variable);
    }
    // The first one of a name counts.
    let mut seen = std::collections::HashSet::new();
    headers.retain(|(name, _)| seen.insert(name.clone()));
    Ok(headers)
}

/// A header of a name and a value that may stand in a request.
fn header(pair: Option<(&str, &str)>) -> Option<HttpHeader> {
    let (name, value) = pair?;
    let (name, value) = (name.trim().to_ascii_lowercase(), value.trim());
    name.parse::<HeaderName>().ok()?;
    value.parse::<HeaderValue>().ok()?;
    Some((name, value.to_owned()))
}

fn read(path: &Path) -> Result<String, Failure> {
    let failed = |error: std::io::Error| Failure::new(format!("{}: {error}", path.display()));
    let file = std::fs::File::open(path).map_err(failed)?;
    let mut text = String::new();
    file.take(LONGEST + 1).read_to_string(&mut text).map_err(failed)?;
    match text.len() as u64 > LONGEST {
        true => Err(Failure::new(format!("{}: longer than 64 KiB", path.display()))),
        false => Ok(text),
    }
}

fn of_variable(text: &str) -> Option<Vec<HttpHeader>> {
    let pairs = text.split(',').filter(|pair| !pair.trim().is_empty());
    pairs
        .map(|pair| {
            let (key, value) = pair.split_once('=')?;
            header(Some((key, &decoded(value.trim())?)))
        })
        .collect()
}

/// Without `%20` and the like.
fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        rest = after;
        if *first != b'%' {
            bytes.push(*first);
            continue;
        }
        let (digits, after) = rest.split_at_checked(2)?;
        bytes.push(u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?);
        rest = after;
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_read_as_opentelemetry_says() {
        let pair = |key: &str, value: &str| (key.to_owned(), value.to_owned());
        assert_eq!(
            of_variable("Authorization=Bearer%20abc=, X-Scope-OrgID=a%2Cb,"),
            Some(vec![pair("authorization", "Bearer abc="), pair("x-scope-orgid", "a,b")])
        );
        assert_eq!(of_variable(""), Some(Vec::new()));
        for bad in ["abc", "a=%4", "a=%zz", "a=%ff", "=b", "a=b%0ac"] {
            assert_eq!(of_variable(bad), None, "{bad}");
        }
    }

    #[test]
    fn files_hold_tokens_and_headers() {
        let folder = tempfile::tempdir().unwrap();
        let (token, headers) = (folder.path().join("token"), folder.path().join("headers"));
        std::fs::write(&token, "secret\n").unwrap();
        std::fs::write(&headers, "X-Scope-OrgID: me\n\nAuthorization: other\n").unwrap();
        let all = all(Some(&headers), Some(&token)).unwrap();
        assert_eq!(all[0], ("authorization".to_owned(), "Bearer secret".to_owned()));
        assert_eq!(all[1], ("x-scope-orgid".to_owned(), "me".to_owned()));
        assert_eq!(all.len(), 2);
        std::fs::write(&headers, "secret without a name\n").unwrap();
        let error = super::all(Some(&headers), None).unwrap_err().to_string();
        assert!(error.contains("line 1") && !error.contains("secret"), "{error}");
    }
}

//! What is added to inferno's SVG while it is written: readable titles, a legend, and a
//! script that fits names and lines into the room that there is.

use super::{
    fitted::fitted,
    titles::{TitleClasses, escaped, rewritten, unescaped},
};
use inferno::flamegraph::color::Color;
use std::{
    fmt::Write as _,
    io::{self, Write},
};

/// It replaces a function of inferno's script, so it comes after that.
const SCRIPT: &str = include_str!("page.js");

/// The picture's own words, which can be seen, and its back on dark screens; frames stay as
/// they are.
const STYLE: &str = "
#search { opacity: 0.5; }
@media screen and (prefers-color-scheme: dark) {
:root { background: #16191d; }
:root > rect { fill: #16191d; }
:root > text, #legend text { fill: #e4e7eb; }
#frames > *:hover { stroke: white; }
}
";

const TITLE: &str = "<title>";
const TITLE_END: &str = "</title>";
const SCRIPT_END: &str = "</script>";
const STYLE_END: &str = "</style>";
const TEXT_END: &str = "</text>";
/// Where the frames begin, of which inferno's script says that they have this id.
const FRAMES: &str = "<svg id=\"frames\"";
/// The picture's own tag, and that of its background: both say how high it is.
const HEIGHTS: [&str; 2] = ["<svg version=", "<rect x=\"0\" y=\"0\" width=\"100%\""];

/// The width of the picture where no script gives it another one, as inferno has it.
const WIDTH: usize = 1200;
/// That of a character of a monospaced font, in pixels.
const CHARACTER: f64 = 7.2;
/// From the picture's edges, in pixels, as inferno has it.
const MARGIN: usize = 10;
/// Lines of the legend are that high, in pixels.
const LINE: usize = 20;
/// The side of a coloured square, and the room from one name to the next square.
const SQUARE: usize = 10;
const GAP: usize = 18;

/// What of a frame was written last.
enum At {
    /// Nothing: there is no frame yet, or the last one is complete.
    Outside,
    /// The begin of its title.
    Title,
    /// Its title: its name, as XML.
    Name(String),
    /// Its rectangle: its name in what room there is.
    Rectangle(String),
}

/// Passes an SVG of inferno's on, with what is added to it.
pub(super) struct SvgWriter<W: Write> {
    out: W,
    /// What stands behind the last tag, or behind the begin of a title.
    pending: Vec<u8>,
    at: At,
    /// How high inferno's picture is, in pixels: there the legend begins.
    height: usize,
    classes: TitleClasses,
    legend: Vec<(Color, &'static str)>,
}

impl<W: Write> SvgWriter<W> {
    /// Passes it on to `out`.
    pub(super) fn new(out: W, classes: TitleClasses, legend: Vec<(Color, &'static str)>) -> Self {
        SvgWriter { out, pending: Vec::new(), at: At::Outside, height: 0, classes, legend }
    }

    /// Writes what is left.
    pub(super) fn finish(mut self) -> io::Result<()> {
        self.out.write_all(&self.pending)?;
        self.out.flush()
    }

    /// Writes the pending text, which ends with a tag, unless that is within a title.
    fn tag(&mut self) -> io::Result<()> {
        let Ok(text) = std::str::from_utf8(&self.pending) else { return self.pass() };
        let (before, tag) = text.split_at(text.rfind('<').unwrap_or(text.len()));
        let written = match &self.at {
            At::Title => {
                let Some(title) = text.strip_suffix(TITLE_END) else { return Ok(()) };
                let rewritten = rewritten(title, &self.classes);
                let written = rewritten.unwrap_or_else(|| title.to_owned()) + TITLE_END;
                let name = title.rsplit_once(" (").map_or(title, |(name, _)| name);
                self.at = At::Name(name.to_owned());
                written
            }
            At::Name(name) if tag.starts_with("<rect ") => {
                let (name, written) = (unescaped(name), text.to_owned());
                self.at = At::Rectangle(escaped(&fitted(&name, room(tag))));
                written
            }
            At::Rectangle(name) if tag == TEXT_END => {
                let written = format!("{name}{TEXT_END}");
                self.at = At::Outside;
                written
            }
            _ => match self.with_additions(before, tag) {
                Some((written, height)) => {
                    self.height = height;
                    written
                }
                None => {
                    if tag == TITLE {
                        self.at = At::Title;
                    }
                    return self.pass();
                }
            },
        };
        self.out.write_all(written.as_bytes())?;
        self.pending.clear();
        Ok(())
    }

    /// What is written for a tag outside of frames and the text before it, and how high
    /// the picture is; `None` if they stay as they are.
    fn with_additions(&self, before: &str, tag: &str) -> Option<(String, usize)> {
        if HEIGHTS.iter().any(|start| tag.starts_with(start)) {
            let (height, higher) = enlarged(tag, self.legend_height())?;
            return Some((format!("{before}{higher}"), height));
        }
        let added = match tag {
            SCRIPT_END => {
                let kind = "type=\"text/ecmascript\"";
                format!("{before}{tag}<script {kind}><![CDATA[\n{SCRIPT}]]></script>")
            }
            STYLE_END => format!("{before}{STYLE}{tag}"),
            _ if tag.starts_with(FRAMES) => format!("{before}{}{tag}", self.drawn_legend()),
            _ => return None,
        };
        Some((added, self.height))
    }

    fn pass(&mut self) -> io::Result<()> {
        self.out.write_all(&self.pending)?;
        self.pending.clear();
        Ok(())
    }

    /// Where each item of the legend stands: from the left, and its line.
    fn places(&self) -> Vec<(usize, usize)> {
        let (mut x, mut line) = (MARGIN, 0);
        let place = |(_, name): &(Color, &str)| {
            let width = SQUARE + GAP + 15 * name.chars().count() / 2;
            if x > MARGIN && x + width > WIDTH - MARGIN {
                (x, line) = (MARGIN, line + 1);
            }
            x += width;
            (x - width, line)
        };
        self.legend.iter().map(place).collect()
    }

    fn legend_height(&self) -> usize {
        self.places().last().map_or(0, |(_, line)| (line + 1) * LINE + MARGIN)
    }

    fn drawn_legend(&self) -> String {
        if self.legend.is_empty() {
            return String::new();
        }
        let mut svg = "<g id=\"legend\">".to_owned();
        for ((color, name), (x, line)) in self.legend.iter().zip(self.places()) {
            let (y, name) = (self.height + line * LINE, escaped(name));
            let Color { r, g, b } = color;
            // Writing into a string cannot fail.
            let _ = write!(
                svg,
                "\n<g transform=\"translate({x},{y})\"><rect width=\"{SQUARE}\" \
                 height=\"{SQUARE}\" fill=\"rgb({r},{g},{b})\"/><text x=\"{}\" y=\"{SQUARE}\">\
                 {name}</text></g>",
                SQUARE + 4
            );
        }
        svg + "</g>\n"
    }
}

impl<W: Write> Write for SvgWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        for piece in bytes.split_inclusive(|&byte| byte == b'>') {
            self.pending.extend_from_slice(piece);
            if piece.ends_with(b">") {
                self.tag()?;
            }
        }
        Ok(bytes.len())
    }

    /// Passes nothing on: half a title cannot be rewritten.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// How many characters a rectangle has room for, whose width is a share of the frames'.
fn room(rectangle: &str) -> usize {
    let width = rectangle.split_once(" width=\"").and_then(|(_, rest)| rest.split_once('%'));
    let percent: f64 = width.and_then(|(digits, _)| digits.parse().ok()).unwrap_or(0.0);
    let pixels = percent / 100.0 * (WIDTH - 2 * MARGIN) as f64 - 3.0;
    (pixels / CHARACTER) as usize
}

/// How high a tag says that something is, and the tag with so much more.
fn enlarged(tag: &str, by: usize) -> Option<(usize, String)> {
    let (before, rest) = tag.split_once(" height=\"")?;
    let (digits, after) = rest.split_once('"')?;
    let height: usize = digits.parse().ok()?;
    let higher = height + by;
    // The last number of a viewBox is the height, too.
    let after = after.replace(&format!(" {height}\""), &format!(" {higher}\""));
    Some((height, format!("{before} height=\"{higher}\"{after}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pass(pieces: &[&str], legend: Vec<(Color, &'static str)>) -> String {
        let mut out = Vec::new();
        let mut svg = SvgWriter::new(&mut out, TitleClasses::default(), legend);
        for piece in pieces {
            svg.write_all(piece.as_bytes()).unwrap();
        }
        svg.finish().unwrap();
        String::from_utf8(out).unwrap()
    }

    fn legend(names: &[&'static str]) -> Vec<(Color, &'static str)> {
        names.iter().map(|name| (Color { r: 1, g: 2, b: 3 }, *name)).collect()
    }

    #[test]
    fn titles_may_come_in_pieces() {
        assert_eq!(
            pass(&["<title>all (12,345,678 ns, 100%)</title><rect/>"], Vec::new()),
            "<title>all (12.3 ms, 100%)</title><rect/>"
        );
        assert_eq!(
            pass(
                &["<a><tit", "le>", "a(1 ns, 2) (5 ns,", " 0.10%)", "</title", ">", "tail"],
                vec![]
            ),
            "<a><title>a(1 ns, 2) (5 ns, 0.10%)</title>tail"
        );
        assert_eq!(pass(&["<title>no end"], Vec::new()), "<title>no end");
    }

    #[test]
    fn names_are_cut_where_they_tell_least() {
        let frame = |width: &str, text: &str| {
            format!(
                "<g><title>a.B.c&lt;d (1 waits, 2%)</title><rect x=\"5%\" width=\"{width}\"/>\n\
                 <text x=\"1%\">{text}</text></g>"
            )
        };
        for (width, name) in [
            ("100.0000%", "a.B.c&lt;d"),
            ("4.2000%", "B.c&lt;d"),
            ("2.8000%", "..&lt;d"),
            ("0.1000%", ""),
            ("wide", ""),
        ] {
            let svg = pass(&[&frame(width, "a.B.."), "<text>x</text>"], Vec::new());
            assert_eq!(svg, frame(width, name) + "<text>x</text>");
        }
    }

    #[test]
    fn the_legend_stands_below_the_frames() {
        let svg = [
            "<?xml?><svg version=\"1.1\" width=\"1200\" height=\"200\" viewBox=\"0 0 1200 200\" a=\"\">",
            "<rect x=\"0\" y=\"0\" width=\"100%\" height=\"200\" fill=\"f\"/>",
            "<svg id=\"frames\" x=\"10\"></svg></svg>",
        ];
        assert_eq!(pass(&svg, Vec::new()), svg.concat());
        let drawn = pass(&svg, legend(&["monitor"]));
        assert_eq!(
            drawn,
            "<?xml?><svg version=\"1.1\" width=\"1200\" height=\"230\" viewBox=\"0 0 1200 230\" \
             a=\"\"><rect x=\"0\" y=\"0\" width=\"100%\" height=\"230\" fill=\"f\"/>\
             <g id=\"legend\">\n<g transform=\"translate(10,200)\"><rect width=\"10\" \
             height=\"10\" fill=\"rgb(1,2,3)\"/><text x=\"14\" y=\"10\">monitor</text></g></g>\n\
             <svg id=\"frames\" x=\"10\"></svg></svg>"
        );
    }

    #[test]
    fn long_legends_have_several_lines() {
        let name = "a name of thirty characters___";
        let svg = SvgWriter::new(Vec::<u8>::new(), TitleClasses::default(), legend(&[name; 5]));
        let places = [(10, 0), (263, 0), (516, 0), (769, 0), (10, 1)];
        assert_eq!(svg.places(), places);
        assert_eq!(svg.legend_height(), 50);
    }

    #[test]
    fn the_script_comes_after_infernos() {
        let svg = pass(&["<script>1<2</script><p/>"], Vec::new());
        let (before, after) = svg.split_once(SCRIPT).unwrap();
        assert!(before.starts_with("<script>1<2</script><script ") && after.ends_with("<p/>"));
        assert!(!SCRIPT.contains("]]>"));
    }
}

//! The metadata event: a tree of elements that says which fields events and constants have.
//!
//! All names and values of it are texts by their number in a table before the tree. A `class` has
//! fields, and annotations, which are classes themselves.

use super::{
    bytes::{begin, end, number, text},
    types::{FieldOf, How, Sort, TYPES, TypeOf, id},
};
use std::collections::HashMap;

/// The type of the event.
const METADATA: u64 = 0;

/// An element of the tree.
struct Element {
    name: &'static str,
    attributes: Vec<(String, String)>,
    children: Vec<Element>,
}

impl Element {
    fn new(name: &'static str, attributes: &[(&str, &str)]) -> Element {
        let owned = |&(key, value): &(&str, &str)| (key.to_owned(), value.to_owned());
        Element { name, attributes: attributes.iter().map(owned).collect(), children: Vec::new() }
    }

    /// An annotation of this type with these values, of which a lone one has no number.
    fn annotation(of: u64, values: &[&str], is_array: bool) -> Element {
        let mut element = Element::new("annotation", &[("class", &of.to_string())]);
        for (nth, value) in values.iter().enumerate() {
            let key = if is_array { format!("value-{nth}") } else { "value".to_owned() };
            element.attributes.push((key, (*value).to_owned()));
        }
        element
    }

    /// Adds a label and a description, as far as there are any.
    fn tell(&mut self, label: &str, about: &str) {
        for (of, told) in [(id::LABEL, label), (id::DESCRIPTION, about)] {
            if !told.is_empty() {
                self.children.push(Element::annotation(of, &[told], false));
            }
        }
    }
}

fn class(of: &TypeOf) -> Element {
    let mut class = Element::new("class", &[("name", of.name), ("id", &of.id.to_string())]);
    let mut add = |key: &str, value: &str| class.attributes.push((key.into(), value.into()));
    match of.sort {
        Sort::Plain => {}
        Sort::Simple => add("simpleType", "true"),
        Sort::Annotation | Sort::ContentType => {
            add("superType", "java.lang.annotation.Annotation");
        }
        Sort::Event(_) => add("superType", "jdk.jfr.Event"),
    }
    class.children.extend(of.fields.iter().map(field));
    match of.sort {
        Sort::Event(category) => {
            class.children.push(Element::annotation(id::CATEGORY, category, true));
        }
        Sort::ContentType => {
            class.children.push(Element::annotation(id::CONTENT_TYPE, &[], false));
        }
        _ => {}
    }
    class.tell(of.label, of.about);
    class
}

fn field(of: &FieldOf) -> Element {
    let mut field = Element::new("field", &[("name", of.name), ("class", &of.of.to_string())]);
    let mut add = |key: &str, value: &str| field.attributes.push((key.into(), value.into()));
    match of.how {
        How::Value => {}
        How::Key => add("constantPool", "true"),
        How::Array => add("dimension", "1"),
    }
    if let Some((content, value)) = of.content {
        let value: &[&str] = if value.is_empty() { &[] } else { &[value] };
        field.children.push(Element::annotation(content, value, false));
        if content == id::ADDRESS {
            field.children.push(Element::annotation(id::UNSIGNED, &[], false));
        }
    }
    field.tell(of.label, "");
    field
}

/// The texts of a tree, each once.
#[derive(Default)]
struct Texts {
    numbers: HashMap<String, u64>,
    all: Vec<String>,
}

impl Texts {
    fn number(&mut self, text: &str) -> u64 {
        if let Some(&known) = self.numbers.get(text) {
            return known;
        }
        let next = self.all.len() as u64;
        self.numbers.insert(text.to_owned(), next);
        self.all.push(text.to_owned());
        next
    }

    fn write(&mut self, element: &Element, out: &mut Vec<u8>) {
        number(out, self.number(element.name));
        number(out, element.attributes.len() as u64);
        for (key, value) in &element.attributes {
            number(out, self.number(key));
            number(out, self.number(value));
        }
        number(out, element.children.len() as u64);
        for child in &element.children {
            self.write(child, out);
        }
    }
}

/// Adds the event, which is the same in all chunks but for its time.
pub(super) fn write(out: &mut Vec<u8>, at_ticks: u64) {
    let mut metadata = Element::new("metadata", &[]);
    metadata.children = TYPES.iter().map(class).collect();
    // Times are told in no zone.
    let region = Element::new("region", &[("locale", "en_US"), ("gmtOffset", "0"), ("dst", "0")]);
    let mut root = Element::new("root", &[]);
    root.children = vec![metadata, region];
    let mut texts = Texts::default();
    let mut tree = Vec::new();
    texts.write(&root, &mut tree);
    let at = begin(out, METADATA);
    number(out, at_ticks);
    // It took no time, and is the only one.
    number(out, 0);
    number(out, 1);
    number(out, texts.all.len() as u64);
    for known in &texts.all {
        text(out, known);
    }
    out.extend_from_slice(&tree);
    end(out, at);
}

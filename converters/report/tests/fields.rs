//! Tables of the fields of JSON: the sources of the types that are written are parsed, and
//! their doc comments become what the tables say.

use std::{
    collections::{BTreeMap, HashMap},
    fmt::Write,
    fs,
    path::{Path, PathBuf},
};
use syn::{
    Attribute, Expr, Field, Fields, GenericArgument, Item, ItemEnum, ItemStruct, Lit, Meta,
    PathArguments, Type, punctuated::Punctuated, token::Comma,
};

/// Types with a name of their own in the documents, which say once what they are.
const NAMED: [(&str, [&str; 2]); 5] = [
    ("LockRef", ["lock", "locks"]),
    ("LockKey", ["lock", "locks"]),
    ("HotStack", ["hot stack", "hot stacks"]),
    ("LogFacts", ["log", "logs"]),
    ("WaitKind", ["string", "strings"]),
];

enum TypeItem {
    Struct(ItemStruct),
    Enum(ItemEnum),
}

/// A type that is written as JSON, and where it is.
struct JsonType {
    file: PathBuf,
    shape: TypeItem,
}

/// All types that are written as JSON, by name.
pub struct Types {
    by_name: BTreeMap<String, Vec<JsonType>>,
    /// The `use` items of each file, as text: they tell types of one name apart.
    imports: HashMap<PathBuf, String>,
}

/// What a field holds.
struct FieldValue<'t> {
    /// As the table has it: `integer`.
    word: String,
    is_list: bool,
    or_null: bool,
    /// The type, if it has fields, or names, of its own.
    of: Option<&'t JsonType>,
    arguments: Vec<&'t Type>,
}

/// A row of a table, and what its value consists of.
struct FieldRow<'t> {
    name: String,
    held: FieldValue<'t>,
    meaning: String,
}

impl Types {
    /// Those of all sources in these folders and files.
    pub fn of(roots: &[PathBuf]) -> Types {
        let mut types = Types { by_name: BTreeMap::new(), imports: HashMap::new() };
        roots.iter().for_each(|root| types.read(root));
        types
    }

    fn read(&mut self, path: &Path) {
        if path.is_dir() {
            for entry in fs::read_dir(path).unwrap() {
                self.read(&entry.unwrap().path());
            }
            return;
        }
        if path.extension().is_none_or(|extension| extension != "rs") {
            return;
        }
        let text = fs::read_to_string(path).unwrap();
        let uses = text.lines().take_while(|line| !line.starts_with("///"));
        self.imports.insert(path.to_owned(), uses.collect());
        for item in syn::parse_file(&text).unwrap().items {
            let (name, shape) = match item {
                Item::Struct(item) if is_written(&item.attrs) => {
                    (item.ident.to_string(), TypeItem::Struct(item))
                }
                Item::Enum(item) if is_written(&item.attrs) => {
                    (item.ident.to_string(), TypeItem::Enum(item))
                }
                _ => continue,
            };
            let source = JsonType { file: path.to_owned(), shape };
            self.by_name.entry(name).or_default().push(source);
        }
    }

    /// The type that a file calls so.
    fn find(&self, name: &str, file: &Path) -> &JsonType {
        let sources = self.by_name.get(name).map_or(&[][..], Vec::as_slice);
        let stem = |source: &JsonType| source.file.file_stem().unwrap().display().to_string();
        let is_imported = |source: &&JsonType| {
            self.imports[file].contains(&format!("{}::{name}", stem(source)))
                || self.imports[file].contains(&format!("{}::{{", stem(source)))
        };
        let here = sources.iter().find(|source| source.file == file);
        let only = sources.first().filter(|_| sources.len() == 1);
        let imported = || sources.iter().find(is_imported);
        here.or(only).or_else(imported).unwrap_or_else(|| {
            panic!("{}: what is {name}? {} types have that name", file.display(), sources.len())
        })
    }

    /// What the document says of a type: its doc comment after the first paragraph, and the
    /// tables of its fields and of all that they consist of.
    pub fn document(&self, file: &Path, name: &str) -> String {
        let source = self.find(name, file);
        let TypeItem::Struct(root) = &source.shape else { panic!("{name} is no struct") };
        let mut text = String::new();
        for paragraph in &paragraphs(&root.attrs)[1..] {
            writeln!(text, "{paragraph}\n").unwrap();
        }
        self.tables(&mut text, source, &[], "", &mut BTreeMap::new());
        text.trim_end().to_owned() + "\n"
    }

    fn tables<'t>(
        &'t self,
        text: &mut String,
        source: &'t JsonType,
        arguments: &[&'t Type],
        path: &str,
        told: &mut BTreeMap<String, String>,
    ) {
        let rows = self.rows(source, arguments);
        text.push_str("| field | type | meaning |\n|---|---|---|\n");
        for FieldRow { name, held, meaning } in &rows {
            let or_null = if held.or_null { " or null" } else { "" };
            let meaning = meaning.replace('|', "\\|");
            writeln!(text, "| `{name}` | {}{or_null} | {meaning} |", held.word).unwrap();
        }
        text.push('\n');
        for FieldRow { name, held, .. } in rows {
            let Some(of @ JsonType { shape: TypeItem::Struct(item), .. }) = held.of else {
                continue;
            };
            let dot = if path.is_empty() { "" } else { "." };
            let list = if held.is_list { "[]" } else { "" };
            let path = format!("{path}{dot}{name}{list}");
            let arguments: Vec<String> =
                held.arguments.iter().filter_map(|of| type_name(of)).collect();
            let key = format!("{}<{}>", item.ident, arguments.join(", "));
            if let Some(first) = told.get(&key) {
                writeln!(text, "`{path}`: as `{first}`.\n").unwrap();
                continue;
            }
            told.insert(key, path.clone());
            let paragraphs = paragraphs(&item.attrs);
            let (first, others) = paragraphs.split_first().unwrap_or_else(|| {
                panic!("{}: {} has no doc comment", of.file.display(), item.ident)
            });
            writeln!(text, "`{path}`: {}\n", begun_small(first)).unwrap();
            for paragraph in others {
                writeln!(text, "{paragraph}\n").unwrap();
            }
            self.tables(text, of, &held.arguments, &path, told);
        }
    }

    /// The fields of a type, those of flattened ones among them.
    fn rows<'t>(&'t self, source: &'t JsonType, arguments: &[&'t Type]) -> Vec<FieldRow<'t>> {
        let TypeItem::Struct(item) = &source.shape else { return Vec::new() };
        let mut written = source;
        if let Some(into) = option(&item.attrs, "into") {
            written = self.find(&into, &source.file);
        }
        let mut rows = Vec::new();
        for field in fields(written) {
            if option(&field.attrs, "skip").is_some() {
                continue;
            }
            let held = self.held(&source.file, &field.ty, &parameters(item, arguments));
            if option(&field.attrs, "flatten").is_some() {
                rows.extend(self.rows(held.of.unwrap(), &held.arguments));
                continue;
            }
            let name = field.ident.as_ref().unwrap().to_string();
            let mut meaning = paragraphs(&field.attrs).join(" ");
            if meaning.is_empty() {
                // What the type is turned into has no doc comments of its own.
                let same = fields(source).find(|other| other.ident == field.ident);
                meaning = same.map_or_else(String::new, |same| paragraphs(&same.attrs).join(" "));
            }
            if let Some(JsonType { shape: TypeItem::Enum(item), .. }) = held.of {
                meaning.push_str(&values(item));
            }
            let file = written.file.display();
            assert!(!meaning.is_empty(), "{file}: {name} of {} has no doc comment", item.ident);
            let name = option(&field.attrs, "rename").unwrap_or(name);
            rows.push(FieldRow { name, held, meaning });
        }
        rows
    }

    fn held<'t>(
        &'t self,
        file: &Path,
        of: &'t Type,
        parameters: &HashMap<String, &'t Type>,
    ) -> FieldValue<'t> {
        let plain = |word: &str| FieldValue {
            word: word.to_owned(),
            is_list: false,
            or_null: false,
            of: None,
            arguments: Vec::new(),
        };
        let name = match of {
            Type::Reference(of) => return self.held(file, &of.elem, parameters),
            Type::Slice(of) => return self.held(file, &of.elem, parameters).many(),
            of => type_name(of).unwrap_or_else(|| panic!("{}: an unknown type", file.display())),
        };
        let arguments = arguments(of);
        if let Some(of) = parameters.get(&name) {
            return self.held(file, of, &HashMap::new());
        }
        match name.as_str() {
            "Option" => FieldValue { or_null: true, ..self.held(file, arguments[0], parameters) },
            "Vec" => self.held(file, arguments[0], parameters).many(),
            "BTreeMap" => plain("object"),
            "String" | "str" => plain("string"),
            "u8" | "u16" | "u32" | "u64" | "usize" | "i64" => plain("integer"),
            "f64" => plain("number"),
            "bool" => plain("boolean"),
            name => match NAMED.iter().find(|named| named.0 == name) {
                Some((_, [word, _])) => plain(word),
                None => {
                    let of = self.find(name, file);
                    let word = match of.shape {
                        TypeItem::Struct(_) => "object",
                        TypeItem::Enum(_) => "string",
                    };
                    FieldValue { of: Some(of), arguments, ..plain(word) }
                }
            },
        }
    }
}

impl FieldValue<'_> {
    fn many(mut self) -> Self {
        let named = NAMED.iter().find(|(_, [word, _])| *word == self.word);
        self.word = match named {
            _ if self.word == "object" => "list".to_owned(),
            Some((_, [_, words])) => (*words).to_owned(),
            None => format!("{}s", self.word),
        };
        self.is_list = true;
        self
    }
}

fn fields(source: &JsonType) -> impl Iterator<Item = &Field> {
    let fields = match &source.shape {
        TypeItem::Struct(ItemStruct { fields: Fields::Named(fields), .. }) => Some(&fields.named),
        _ => None,
    };
    fields.into_iter().flatten()
}

/// Whether it derives `Serialize`.
fn is_written(attributes: &[Attribute]) -> bool {
    attributes.iter().filter(|attribute| attribute.path().is_ident("derive")).any(|attribute| {
        let derived = attribute.parse_args_with(Punctuated::<syn::Path, Comma>::parse_terminated);
        derived.unwrap().iter().any(|derived| derived.segments.last().unwrap().ident == "Serialize")
    })
}

/// The value of an option of serde; empty for one without a value.
fn option(attributes: &[Attribute], wanted: &str) -> Option<String> {
    let mut found = None;
    for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("serde")) {
        let options = attribute.parse_args_with(Punctuated::<Meta, Comma>::parse_terminated);
        for option in options.unwrap() {
            let name = option.path().get_ident().unwrap().to_string();
            // What may be missing says so in words.
            let known = [
                "flatten",
                "into",
                "rename",
                "rename_all",
                "serialize_with",
                "skip",
                "skip_serializing_if",
            ];
            assert!(known.contains(&name.as_str()), "what does {name} do to the documents?");
            if name == wanted {
                found = Some(match option {
                    Meta::NameValue(option) => text(&option.value),
                    _ => String::new(),
                });
            }
        }
    }
    found
}

fn text(value: &Expr) -> String {
    match value {
        Expr::Lit(value) => match &value.lit {
            Lit::Str(value) => value.value(),
            _ => String::new(),
        },
        _ => String::new(),
    }
}

/// A doc comment. Lines of a paragraph become one, except those of a table.
fn paragraphs(attributes: &[Attribute]) -> Vec<String> {
    let mut paragraphs = vec![String::new()];
    for attribute in attributes {
        let Meta::NameValue(meta) = &attribute.meta else { continue };
        if !meta.path.is_ident("doc") {
            continue;
        }
        let line = text(&meta.value);
        let (line, last) = (line.trim(), paragraphs.last_mut().unwrap());
        match line {
            "" => paragraphs.push(String::new()),
            line if last.is_empty() => last.push_str(line),
            line if line.starts_with("| ") || line.starts_with("|-") => {
                last.push_str(&format!("\n{line}"));
            }
            line => last.push_str(&format!(" {line}")),
        }
    }
    paragraphs.retain(|paragraph| !paragraph.is_empty());
    paragraphs
}

/// What the values of an enum mean.
fn values(item: &ItemEnum) -> String {
    let case = option(&item.attrs, "rename_all");
    assert!(case.is_none_or(|case| case == "kebab-case"), "{} is written otherwise", item.ident);
    let value = |variant: &syn::Variant| {
        let mut name = String::new();
        for (at, letter) in variant.ident.to_string().chars().enumerate() {
            if letter.is_uppercase() && at != 0 {
                name.push('-');
            }
            name.extend(letter.to_lowercase());
        }
        format!(" `{name}`: {}", begun_small(&paragraphs(&variant.attrs).join(" ")))
    };
    item.variants.iter().map(value).collect()
}

fn begun_small(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next();
    // `JVM` and `I/O` stay.
    match letters.clone().next() {
        Some(second) if second.is_lowercase() || second == ' ' => {
            first.into_iter().flat_map(char::to_lowercase).chain(letters).collect()
        }
        _ => text.to_owned(),
    }
}

fn type_name(of: &Type) -> Option<String> {
    match of {
        Type::Path(of) => Some(of.path.segments.last()?.ident.to_string()),
        _ => None,
    }
}

fn arguments(of: &Type) -> Vec<&Type> {
    let Type::Path(of) = of else { return Vec::new() };
    match of.path.segments.last().map(|segment| &segment.arguments) {
        Some(PathArguments::AngleBracketed(all)) => {
            let types = all.args.iter().filter_map(|argument| match argument {
                GenericArgument::Type(of) => Some(of),
                _ => None,
            });
            types.collect()
        }
        _ => Vec::new(),
    }
}

fn parameters<'t>(item: &ItemStruct, arguments: &[&'t Type]) -> HashMap<String, &'t Type> {
    let names = item.generics.type_params().map(|parameter| parameter.ident.to_string());
    names.zip(arguments.iter().copied()).collect()
}

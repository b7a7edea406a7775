//! What the files of a crate use of each other.

use std::{
    collections::{BTreeMap, BTreeSet},
    iter,
    path::{Path, PathBuf},
};

/// The sources of a crate, from its root on.
#[derive(Default)]
pub struct Crate {
    /// By number: the name below the crate's folder, and the module.
    files: Vec<(String, ModulePath)>,
    modules: BTreeMap<ModulePath, Module>,
    /// What each file uses of others.
    uses: BTreeMap<(usize, usize), BTreeSet<String>>,
}

type ModulePath = Vec<String>;

/// A module, in a file of its own or within another one's.
#[derive(Default)]
struct Module {
    file: usize,
    /// By the name under which it is known here, and whether it is passed on.
    imports: Vec<Import>,
    /// Paths in the code.
    paths: Vec<Vec<String>>,
}

struct Import {
    name: String,
    path: Vec<String>,
    passed_on: bool,
}

/// Where a path leads.
struct Target {
    file: usize,
    /// What of it; empty for the module itself.
    item: String,
}

impl Crate {
    /// Reads the crate whose root is in this folder.
    pub fn read(folder: &Path) -> Crate {
        let mut of = Crate::default();
        let root = ["lib.rs", "main.rs"].map(|name| folder.join(name));
        let root = root.into_iter().find(|path| path.exists()).unwrap();
        of.read_file(folder, &root, folder, Vec::new());
        of.link();
        of
    }

    /// The numbers of all files.
    pub fn files(&self) -> Vec<usize> {
        (0..self.files.len()).collect()
    }

    /// A file's name below the crate's folder.
    pub fn name(&self, file: usize) -> &str {
        &self.files[file].0
    }

    /// The module below the crate's root that a file belongs to.
    pub fn top(&self, file: usize) -> Option<&str> {
        self.files[file].1.first().map(String::as_str)
    }

    /// Which file uses which, and what of it.
    pub fn uses(&self) -> impl Iterator<Item = (usize, usize, Vec<&str>)> {
        let all = self.uses.iter();
        all.map(|(&(from, to), of)| (from, to, of.iter().map(String::as_str).collect()))
    }

    /// `children` are read beside or below `beside`.
    fn read_file(&mut self, folder: &Path, file: &Path, children: &Path, module: ModulePath) {
        let text = std::fs::read_to_string(file)
            .unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        let name = file.strip_prefix(folder).unwrap().to_str().unwrap().to_owned();
        let number = self.files.len();
        self.files.push((name, module.clone()));
        let mut scan =
            Scan { of: self, file: number, folder, children, tokens: tokens(&text), at: 0 };
        scan.module(module);
    }

    /// Finds out what all paths lead to.
    fn link(&mut self) {
        let mut uses: BTreeMap<(usize, usize), BTreeSet<String>> = BTreeMap::new();
        for (at, module) in &self.modules {
            let imported = |import: &&Import| !import.passed_on;
            // Of a module that is imported, what counts is what is used of it.
            let is_prefix =
                |import: &&Import| module.paths.iter().any(|path| path[0] == import.name);
            let imports = module.imports.iter().filter(imported);
            let whole = |import: &&Import| {
                let is_module =
                    self.resolve(at, &import.path, 0).is_some_and(|t| t.item.is_empty());
                !(is_module && is_prefix(import))
            };
            let paths = imports.filter(whole).map(|import| &import.path).chain(&module.paths);
            for target in paths.filter_map(|path| self.resolve(at, path, 0)) {
                if target.file != module.file {
                    uses.entry((module.file, target.file)).or_default().insert(target.item);
                }
            }
        }
        for names in uses.values_mut() {
            if names.remove("") && names.is_empty() {
                names.insert("the module".to_owned());
            }
        }
        self.uses = uses;
    }

    /// What a path leads to, as it stands in a module; `None` for what is not of
    /// this crate, or of the module itself.
    fn resolve(&self, at: &[String], path: &[String], depth: usize) -> Option<Target> {
        let (first, mut rest) = path.split_first()?;
        let mut base = at.to_vec();
        match first.as_str() {
            "crate" => base.clear(),
            "self" => {}
            "super" => {
                base.pop()?;
                while let Some(("super", more)) = rest.split_first().map(|(s, m)| (s.as_str(), m)) {
                    base.pop()?;
                    rest = more;
                }
            }
            name => {
                let is_child = self.modules.contains_key(&below(at, name));
                let is_import = self.modules[at].imports.iter().any(|import| import.name == name);
                if !is_child && (!is_import || path.len() == 1) {
                    return None;
                }
                rest = path;
            }
        }
        self.descend(base, rest, depth)
    }

    fn descend(&self, mut base: ModulePath, path: &[String], depth: usize) -> Option<Target> {
        for (nth, name) in path.iter().enumerate() {
            let child = below(&base, name);
            if self.modules.contains_key(&child) {
                base = child;
                continue;
            }
            let module = &self.modules[&base];
            let import = module.imports.iter().find(|import| import.name == *name);
            if let Some(import) = import.filter(|_| depth < 16) {
                let onward: Vec<String> =
                    import.path.iter().chain(&path[nth + 1..]).cloned().collect();
                // A name of another crate is nobody's here.
                return self.resolve(&base, &onward, depth + 1);
            }
            return Some(Target { file: module.file, item: name.clone() });
        }
        Some(Target { file: self.modules[&base].file, item: String::new() })
    }

    /// The circles that are larger than a file with its child modules, or are
    /// made by children without it: the numbers of their files.
    pub fn circles(&self) -> Vec<Vec<usize>> {
        let all: Vec<(usize, usize)> = self.uses.keys().copied().collect();
        let module = |file: usize| &self.files[file].1;
        let is_below = |file: usize, above: usize| {
            module(file) != module(above) && module(file).starts_with(module(above))
        };
        // The root is above all, which would make one family of them.
        let is_family = |circle: &Vec<usize>| {
            circle.iter().any(|&head| {
                let is_child = |&file: &usize| file == head || is_below(file, head);
                !module(head).is_empty() && circle.iter().all(is_child)
            })
        };
        let mut circles: Vec<_> = knots(self.files.len(), &all);
        circles.retain(|circle| !is_family(circle));
        let downward =
            all.into_iter().filter(|&(from, to)| !is_below(from, to)).collect::<Vec<_>>();
        for circle in knots(self.files.len(), &downward) {
            if circles.iter().all(|larger| !circle.iter().all(|file| larger.contains(file))) {
                circles.push(circle);
            }
        }
        for circle in &mut circles {
            circle.sort_by_key(|&file| self.name(file));
        }
        circles.sort();
        circles
    }

    /// What ties the files of a circle, a line each.
    pub fn ties(&self, circle: &[usize]) -> String {
        let within = |&(from, to, _): &(usize, usize, Vec<&str>)| {
            circle.contains(&from) && circle.contains(&to)
        };
        let line = |(from, to, names): (usize, usize, Vec<&str>)| {
            format!("  {} uses {} of {}\n", self.name(from), names.join(", "), self.name(to))
        };
        self.uses().filter(within).map(line).collect()
    }
}

fn below(module: &[String], name: &str) -> ModulePath {
    module.iter().cloned().chain(iter::once(name.to_owned())).collect()
}

/// The sets of more than one of `count` that all lead to each other.
fn knots(count: usize, ways: &[(usize, usize)]) -> Vec<Vec<usize>> {
    let mut leads = vec![vec![false; count]; count];
    ways.iter().for_each(|&(from, to)| leads[from][to] = true);
    for over in 0..count {
        let onward = leads[over].clone();
        for from in leads.iter_mut().filter(|from| from[over]) {
            from.iter_mut().zip(&onward).for_each(|(to, &leads)| *to |= leads);
        }
    }
    let knot = |first: usize| -> Vec<usize> {
        (0..count).filter(|&other| leads[first][other] && leads[other][first]).collect()
    };
    let knots = (0..count).map(|first| (first, knot(first)));
    knots
        .filter(|(first, knot)| knot.len() > 1 && knot[0] == *first)
        .map(|(_, knot)| knot)
        .collect()
}

/// A word, a text in quotes, or a sign.
#[derive(Clone, Debug, PartialEq)]
enum Token {
    Word(String),
    Text(String),
    /// `:` stands for `::`, single ones are left out.
    Sign(char),
}

/// The tokens of a source, without comments, lifetimes, characters and numbers.
fn tokens(text: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let len = match first {
            _ if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            _ if rest.starts_with("/*") => comment_len(rest),
            '"' => {
                let len = text_len(rest);
                tokens.push(Token::Text(rest[1..len - 1].to_owned()));
                len
            }
            '\'' => character_len(rest),
            _ if raw_text_len(rest).is_some() => raw_text_len(rest).unwrap(),
            _ if first.is_alphanumeric() || first == '_' => {
                let is_word = |c: char| c.is_alphanumeric() || c == '_';
                let len = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
                // Of `b"…"` and `c"…"` the text comes next.
                let is_prefix = rest[len..].starts_with(['"', '\'']);
                if !first.is_numeric() && !is_prefix {
                    tokens.push(Token::Word(rest[..len].to_owned()));
                }
                len
            }
            ':' if rest.starts_with("::") => {
                tokens.push(Token::Sign(':'));
                2
            }
            ':' => 1,
            _ => {
                if !first.is_whitespace() {
                    tokens.push(Token::Sign(first));
                }
                first.len_utf8()
            }
        };
        rest = &rest[len..];
    }
    tokens
}

fn comment_len(text: &str) -> usize {
    let (mut depth, mut at) = (0, 0);
    while at < text.len() {
        let rest = &text.as_bytes()[at..];
        if rest.starts_with(b"/*") {
            depth += 1;
            at += 2;
        } else if rest.starts_with(b"*/") {
            depth -= 1;
            at += 2;
        } else {
            at += 1;
        }
        if depth == 0 {
            return at;
        }
    }
    text.len()
}

fn text_len(text: &str) -> usize {
    let mut is_escaped = false;
    for (at, byte) in text.bytes().enumerate().skip(1) {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = true,
            b'"' => return at + 1,
            _ => {}
        }
    }
    panic!("a text without an end: {text}");
}

/// Of `r"…"`, `r#"…"#` and those with a `b` or `c` in front.
fn raw_text_len(text: &str) -> Option<usize> {
    let behind = text
        .strip_prefix("r")
        .or_else(|| text.strip_prefix("br").or_else(|| text.strip_prefix("cr")))?;
    let hashes = behind.len() - behind.trim_start_matches('#').len();
    let content = behind[hashes..].strip_prefix('"')?;
    let end = format!("\"{}", "#".repeat(hashes));
    let len = content.find(&end)? + end.len();
    Some(text.len() - content.len() + len)
}

/// Of a character, or of the quote of a lifetime.
fn character_len(text: &str) -> usize {
    let mut chars = text.char_indices().skip(1);
    match chars.next() {
        Some((_, '\\')) => {
            // What is escaped may itself be a quote.
            let end = chars.skip(1).find(|&(_, c)| c == '\'');
            end.map_or(text.len(), |(at, _)| at + 1)
        }
        Some(_) => match chars.next() {
            Some((at, '\'')) => at + 1,
            _ => 1,
        },
        None => 1,
    }
}

/// Reads one file.
struct Scan<'a> {
    of: &'a mut Crate,
    file: usize,
    folder: &'a Path,
    /// Where the files of child modules are.
    children: &'a Path,
    tokens: Vec<Token>,
    at: usize,
}

impl Scan<'_> {
    fn word(&self, ahead: usize) -> Option<&str> {
        match self.tokens.get(self.at + ahead)? {
            Token::Word(word) => Some(word),
            _ => None,
        }
    }

    fn is_sign(&self, ahead: usize, sign: char) -> bool {
        self.tokens.get(self.at + ahead) == Some(&Token::Sign(sign))
    }

    /// Reads a module up to its end.
    fn module(&mut self, path: ModulePath) {
        self.of.modules.insert(path.clone(), Module { file: self.file, ..Module::default() });
        let mut depth = 0;
        let mut place = None;
        let mut passed_on = false;
        while self.at < self.tokens.len() {
            if self.is_sign(0, '#') && (self.is_sign(1, '[') || self.is_sign(2, '[')) {
                let attribute = self.attribute();
                if attribute == ["cfg", "(", "test", ")"] {
                    self.skip_item();
                } else if let [path, equals, file] = &attribute[..]
                    && (path.as_str(), equals.as_str()) == ("path", "=")
                {
                    place = Some(PathBuf::from(file));
                }
                continue;
            }
            match (self.word(0), self.word(1)) {
                (Some("pub"), _) => {
                    passed_on = true;
                    self.at += 1;
                    if self.is_sign(0, '(') {
                        self.skip_group();
                    }
                    continue;
                }
                (Some("mod"), Some(name)) => {
                    let child = below(&path, name);
                    let name = name.to_owned();
                    self.at += 2;
                    if self.is_sign(0, '{') {
                        self.at += 1;
                        self.module(child);
                    } else {
                        self.child(&name, place.take(), child);
                    }
                }
                (Some("use"), _) => {
                    self.at += 1;
                    let imports = self.tree(&[]);
                    let imports =
                        imports.into_iter().map(|(name, path)| Import { name, path, passed_on });
                    self.of.modules.get_mut(&path).unwrap().imports.extend(imports);
                }
                (Some(_), _) => {
                    let found = self.path();
                    if found.len() > 1 {
                        self.of.modules.get_mut(&path).unwrap().paths.push(found);
                    }
                }
                _ => {
                    depth += i32::from(self.is_sign(0, '{')) - i32::from(self.is_sign(0, '}'));
                    self.at += 1;
                    if depth < 0 {
                        return;
                    }
                }
            }
            passed_on = false;
        }
    }

    fn child(&mut self, name: &str, place: Option<PathBuf>, module: ModulePath) {
        let file = match place {
            // Beside the file that says so.
            Some(place) => self.folder.join(self.of.name(self.file)).parent().unwrap().join(place),
            None => self.children.join(format!("{name}.rs")),
        };
        let folder = file.with_extension("");
        self.of.read_file(self.folder, &file, &folder, module);
    }

    /// The words, signs and texts of an attribute.
    fn attribute(&mut self) -> Vec<String> {
        self.at += if self.is_sign(1, '[') { 1 } else { 2 };
        let from = self.at + 1;
        self.skip_group();
        let within = &self.tokens[from..self.at - 1];
        let text = |token: &Token| match token {
            Token::Word(text) | Token::Text(text) => text.clone(),
            Token::Sign(sign) => sign.to_string(),
        };
        within.iter().map(text).collect()
    }

    /// Goes behind the bracket that closes the one here.
    fn skip_group(&mut self) {
        let mut depth = 0;
        while self.at < self.tokens.len() {
            match self.tokens[self.at] {
                Token::Sign('(' | '[' | '{') => depth += 1,
                Token::Sign(')' | ']' | '}') => depth -= 1,
                _ => {}
            }
            self.at += 1;
            if depth == 0 {
                return;
            }
        }
    }

    /// Goes behind an item: up to a semicolon, or the end of a block.
    fn skip_item(&mut self) {
        while self.at < self.tokens.len() {
            match self.tokens[self.at] {
                Token::Sign(';') => {
                    self.at += 1;
                    return;
                }
                Token::Sign('{') => return self.skip_group(),
                Token::Sign('(' | '[') => self.skip_group(),
                _ => self.at += 1,
            }
        }
    }

    /// The words of a path, as far as they stand one behind the other.
    fn path(&mut self) -> Vec<String> {
        // What is behind a value, or a type in brackets, is no module's.
        let is_behind = self.at > 0 && matches!(self.tokens[self.at - 1], Token::Sign('.' | ':'));
        let mut path = Vec::new();
        while let Some(word) = self.word(0) {
            path.push(word.to_owned());
            self.at += 1;
            if !(self.is_sign(0, ':') && self.word(1).is_some()) {
                break;
            }
            self.at += 1;
        }
        if is_behind { Vec::new() } else { path }
    }

    /// The names that a `use` declares, each with its path.
    fn tree(&mut self, before: &[String]) -> Vec<(String, Vec<String>)> {
        let mut path = before.to_vec();
        let mut found = Vec::new();
        loop {
            if self.is_sign(0, '{') {
                self.at += 1;
                while !self.is_sign(0, '}') {
                    found.extend(self.tree(&path));
                    self.at += usize::from(self.is_sign(0, ','));
                }
                self.at += 1;
                return found;
            }
            match self.word(0).map(str::to_owned) {
                Some(word) if word == "self" && !path.is_empty() => {}
                Some(word) => path.push(word),
                // A glob: all of the module.
                None => {}
            }
            self.at += 1;
            if self.is_sign(0, ':') {
                self.at += 1;
                continue;
            }
            let mut name = path.last().cloned().unwrap_or_default();
            if self.word(0) == Some("as") {
                name = self.word(1).unwrap_or_default().to_owned();
                self.at += 2;
            }
            found.push((name, path));
            return found;
        }
    }
}

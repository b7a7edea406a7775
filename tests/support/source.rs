//! The sources of the test programs, which mark where threads wait.

use super::root;

/// The line of a class of `tyrion.truth` that is marked `// WAIT`.
pub fn wait_line(class: &str) -> usize {
    let path = root().join(format!("testdata/java/tyrion/truth/{class}.java"));
    let source = std::fs::read_to_string(&path).unwrap();
    let marked = source.lines().enumerate().filter(|(_, line)| line.ends_with("// WAIT"));
    let lines: Vec<usize> = marked.map(|(index, _)| index + 1).collect();
    match lines[..] {
        [line] => line,
        _ => panic!("{} marks lines {lines:?}", path.display()),
    }
}

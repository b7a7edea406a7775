//! What holds for the cases without running them, and for what judges them.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a panic is how a test fails")]
#![allow(dead_code, reason = "what only runs programs is not tested here")]

mod accuracy;
mod arguments;
mod case;
mod document;
mod judge;
mod outcome;
mod place;
mod said;
mod words;

mod checks {
    mod arguments;
    mod document;
    mod files;
    mod judge;
    mod said;

    /// A case with an answer, as its file has it.
    fn case(answer: &str) -> crate::case::Case {
        let text = format!(
            "title = \"A pool\"\nsource = \"https://example.org/1\"\narea = \"pools\"\n\
             set = \"bugs\"\nproof = \"seen\"\n\
             [program]\njdk = [17, 25]\nseconds = 8\n[answer]\n{answer}\n"
        );
        crate::case::Case::of(&text, "pool".to_owned(), "none".as_ref()).unwrap()
    }
}

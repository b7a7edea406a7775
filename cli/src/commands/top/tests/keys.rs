//! What keys do.

use super::*;

#[test]
fn keys_sort_and_filter() {
    let mut user = User::new(false, (80, 24));
    assert_eq!(user.first_lock(), "Cache.map");
    // To the left of the first is the last column; to its right waits/s.
    user.press(KeyCode::Left);
    assert_eq!(user.app.locks.sort, 10);
    user.press(KeyCode::Char('s'));
    user.press(KeyCode::Right);
    assert_eq!(user.app.locks.sort, 1);
    for _ in 0..4 {
        user.press(KeyCode::Right);
    }
    assert_eq!(user.app.locks.sort, 8, "those of trace mode are left out");
    user.type_in("/QUEUE");
    assert!(user.screen().contains("/QUEUE▏"));
    user.press(KeyCode::Enter);
    assert_eq!(user.first_lock(), "Queue.turn");
    assert_eq!(user.app.lock_rows(&user.frame()).len(), 1);
    user.press(KeyCode::Esc);
    assert_eq!(user.app.lock_rows(&user.frame()).len(), 2);
    // What is no regular expression is a text.
    user.type_in("/map (");
    assert_eq!(user.first_lock(), "Cache.map");
    user.press(KeyCode::Backspace);
    user.press(KeyCode::Esc);
    assert_eq!(user.app.filter(), "");
    user.type_in("/nothing");
    assert!(user.screen().contains("Nothing matches"));
    assert_eq!(user.press(KeyCode::Enter), Action::Draw);
    user.press(KeyCode::Enter);
    assert_eq!(*user.app.view(), View::Locks, "there is nothing to open");
}

#[test]
fn the_selection_stays_with_its_row() {
    let mut user = User::new(false, (80, 24));
    assert_eq!(user.selected(), 0);
    user.press(KeyCode::Up);
    user.press(KeyCode::Down);
    user.press(KeyCode::Down);
    assert_eq!(user.selected(), 1, "there are two");
    // By kind the rows come in another order.
    let chosen = user.app.lock_rows(&user.frame())[1].lock.clone();
    for _ in 0..6 {
        user.press(KeyCode::Left);
        let (at, rows) = (user.selected(), user.frame());
        assert_eq!(user.app.lock_rows(&rows)[at].lock, chosen);
    }
    user.press(KeyCode::Home);
    assert_eq!(user.selected(), 0);
    user.press(KeyCode::End);
    assert_eq!(user.selected(), 1);
    user.press(KeyCode::PageUp);
    assert_eq!(user.selected(), 0);
}

#[test]
fn keys_lead_there_and_back() {
    let mut user = User::new(false, (80, 24));
    user.press(KeyCode::Char('t'));
    assert_eq!(user.press(KeyCode::Enter), Action::Remake);
    assert!(matches!(user.app.view(), View::Detail(DetailSubject::Thread(_))));
    user.press(KeyCode::End);
    user.screen();
    let end = user.app.scroll;
    user.press(KeyCode::Down);
    user.screen();
    assert_eq!(user.app.scroll, end, "it does not leave the end");
    user.press(KeyCode::Esc);
    assert_eq!(*user.app.view(), View::Threads);
    user.press(KeyCode::Char('t'));
    assert_eq!(*user.app.view(), View::Locks);
    assert_eq!(user.press(KeyCode::Char('+')), Action::Window(10 * S));
    for _ in 0..10 {
        user.press(KeyCode::Char('-'));
    }
    assert_eq!(user.press(KeyCode::Char('-')), Action::Window(S));
    assert_eq!(user.press(KeyCode::Char(' ')), Action::Remake);
    assert!(user.screen().contains("FROZEN"));
    assert_eq!(user.press(KeyCode::Char('a')), Action::Remake);
    assert!(user.screen().contains("all kinds") && user.screen().contains("park"));
    user.press(KeyCode::Char('a'));
    assert!(!user.screen().contains("all kinds"));
    assert_eq!(user.press(KeyCode::Char('i')), Action::Remake);
    assert_eq!(user.frame().locks.len(), 3);
    assert_eq!(user.press(KeyCode::Char('q')), Action::Quit);
    let frame = user.frame();
    let control = |char| KeyEvent::new(KeyCode::Char(char), KeyModifiers::CONTROL);
    assert_eq!(user.app.key(control('c'), &frame), Action::Quit);
    assert_eq!(user.app.key(control('z'), &frame), Action::Suspend);
}

use super::*;

const READ: [&str; 4] = [
    "java.util.concurrent.locks.LockSupport.park",
    "sun.nio.ch.Poller.poll",
    "sun.nio.ch.NioSocketImpl.read",
    "java.net.Socket$SocketInputStream.read",
];

fn frames(of_program: &[&str]) -> Vec<String> {
    READ.iter().chain(of_program).map(|it| (*it).to_owned()).collect()
}

#[test]
fn answers_are_told_from_requests() {
    let own = ProgramCode::named(&["com.acme"]);
    let serve = frames(&["com.acme.Chat.serve(Chat.java:3)", "com.acme.Chat.run(Chat.java:1)"]);
    let ask = frames(&["com.acme.Chat.ask(Chat.java:9)", "com.acme.Chat.serve(Chat.java:4)"]);
    let of_library = frames(&["org.lib.In.read(In.java:9)", "org.lib.Chat.handle(A.java:4)"]);
    let readers: HashSet<String> =
        [&serve, &ask, &of_library].iter().map(|it| method(others(it).next().unwrap())).collect();
    assert!(is_at_socket(&serve) && is_at_socket(&ask));
    assert!(!asks(&serve, &readers, &own), "a loop reads what comes");
    assert!(asks(&ask, &readers, &own), "within the work");
    assert!(!asks(&of_library, &readers, &own), "no code of the program's");
}

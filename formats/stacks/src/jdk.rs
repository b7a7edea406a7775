//! Which classes are of the JDK.

/// Whether a class is of the JDK.
pub fn is_jdk(class: &str) -> bool {
    let begins = |prefixes: &[&str], name: &str| prefixes.iter().any(|it| name.starts_with(it));
    if let Some(rest) = class.strip_prefix("javax.") {
        return begins(JAVAX, rest);
    }
    if let Some(rest) = class.strip_prefix("com.sun.") {
        return begins(COM_SUN, rest);
    }
    begins(&["java.", "jdk.", "sun."], class)
}

/// How names go on after `javax.` in the JDK; all else is of libraries.
const JAVAX: &[&str] = &[
    "accessibility.",
    "annotation.processing.",
    "crypto.",
    "imageio.",
    "lang.model.",
    "management.",
    "naming.",
    "net.",
    "print.",
    "rmi.",
    "script.",
    "security.auth.",
    "security.cert.",
    "security.sasl.",
    "smartcardio.",
    "sound.",
    "sql.",
    "swing.",
    "tools.",
    "transaction.xa.",
    "xml.catalog.",
    "xml.crypto.",
    "xml.datatype.",
    "xml.namespace.",
    "xml.parsers.",
    "xml.stream.",
    "xml.transform.",
    "xml.validation.",
    "xml.xpath.",
];

/// The same after `com.sun.`.
const COM_SUN: &[&str] = &[
    "accessibility.internal.",
    "beans.",
    "crypto.provider.",
    "imageio.",
    "jarsigner.",
    "java.",
    "java_cup.",
    "jdi.",
    "jmx.",
    "jndi.",
    "management.",
    "media.sound.",
    "naming.internal.",
    "net.httpserver.",
    "net.ssl.",
    "nio.",
    "org.apache.",
    "proxy.",
    "rowset.",
    "security.",
    "source.",
    "swing.",
    "tools.",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_are_told_from_the_jdk() {
        for (class, expected) in [
            ("java.util.Map", true),
            ("javax.net.ssl.SSLSocket", true),
            ("javax.servlet.http.HttpServlet", false),
            ("javax.mail.Transport", false),
            ("com.sun.jndi.dns.DnsClient", true),
            ("com.sun.mail.smtp.SMTPTransport", false),
            ("sun.nio.ch.Net", true),
            ("com.sunshine.Shop", false),
        ] {
            assert_eq!(is_jdk(class), expected, "{class}");
        }
    }
}

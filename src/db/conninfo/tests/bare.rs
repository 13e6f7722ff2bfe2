//! An address for others to see.

use proptest::prelude::*;

use super::super::source::Source;
use super::super::{keyword, params, settings, uri, without_secrets};

#[test]
fn an_address_is_shown_as_written_but_for_its_secrets() {
    for (address, wanted) in [
        (
            "postgresql://app:s3cret@db1:5433,db2/jobs?sslmode=require",
            "postgresql://app@db1:5433,db2/jobs?sslmode=require",
        ),
        ("postgres://:s3cret@/jobs", "postgres://@/jobs"),
        ("postgresql://app@db1?password=s3cret", "postgresql://app@db1"),
        (
            "postgresql:///jobs?host=%2Ftmp&p%61ssword=s3cret&port=1&sslpassword=s3cret",
            "postgresql:///jobs?host=%2Ftmp&port=1",
        ),
        (
            " user = app password='s3\\' cret' host=db1 dbname='two words'",
            "user=app host=db1 dbname='two words'",
        ),
        (r"password=s3\ cret user='a\'b\\' password = s3cret", r"user='a\'b\\'"),
        ("password=s3cret", ""),
    ] {
        assert_eq!(without_secrets(address).as_deref(), Some(wanted), "{address}");
    }
}

#[test]
fn without_a_secret_it_may_be_seen_and_unread_all_of_it_may_be_one() {
    for address in
        ["", " ", "postgresql://app@db1/jobs", "postgresql://app:@db1", "host=db1 password=''", "***"]
    {
        assert_eq!(without_secrets(address), None, "{address}");
    }
    for address in
        ["postgresql://app:s3/cret@db1/jobs", "mysql://app:s3cret@db1", "pasword=s3cret", "password='s3cret"]
    {
        assert_eq!(without_secrets(address).as_deref(), Some("***"), "{address}");
    }
}

proptest! {
    /// It names the same in all but the secrets, also to the parser.
    #[test]
    fn the_rest_stays(
        user in "[ -~]{0,6}", password in "[ -~]{1,9}", dbname in "[ -~]{0,6}", options in "[ -~]{0,6}",
    ) {
        let quoted = |text: &str| text.replace('\\', r"\\").replace('\'', r"\'");
        let words = format!(
            "user='{}' password='{}' dbname='{}' options='{}'",
            quoted(&user), quoted(&password), quoted(&dbname), quoted(&options)
        );
        let [u, p, d, o] = [&user, &password, &dbname, &options].map(|text| uri::encode(text));
        for address in [words, format!("postgresql://{u}:{p}@db1/{d}?options={o}&password={p}")] {
            let read = |text: &str| settings::parse_address(text, Source::Flag).expect("an address");
            let mut whole: keyword::Pairs = read(&address);
            whole.retain(|(name, _)| !params::is_secret(name));
            prop_assert_eq!(read(&without_secrets(&address).expect("a secret")), whole);
        }
    }
}

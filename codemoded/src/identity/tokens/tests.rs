//! Which tokens of a file count.

use super::*;
use crate::identity::SubjectId;
use crate::value::Value;

fn minted(lifetime: Duration) -> (Minted, Table) {
    let minted = mint(&SubjectId::new("ann \"a\"").unwrap(), &["ops".to_owned(), "dev".to_owned()], lifetime).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tokens.toml");
    std::fs::write(&path, format!("# ours\n{}\n", minted.line)).unwrap();
    let table = file::read(&path).unwrap();
    (minted, table)
}

#[test]
fn a_new_token_is_its_subjects_until_it_expires() {
    let (minted, table) = minted(Duration::from_secs(60));
    let now = SystemTime::now();
    let subject = check(&table, &minted.token, now).unwrap();
    assert_eq!(subject.id.as_str(), "ann \"a\"");
    assert_eq!(subject.claims["groups"], Value::List(vec!["ops".into(), "dev".into()]));
    assert_eq!(check(&table, &minted.token, now + Duration::from_secs(61)), Err(Fault::Expired));
}

#[test]
fn nothing_but_the_whole_token_counts() {
    let (minted, table) = minted(Duration::from_secs(60));
    let (head, secret) = minted.token.rsplit_once('_').unwrap();
    let other: String = secret.chars().map(|digit| if digit == '0' { '1' } else { '0' }).collect();
    let refused = [
        (secret.to_owned(), Fault::Malformed),
        (head.to_owned(), Fault::Malformed),
        (format!("{head}_"), Fault::WrongSecret),
        (format!("{head}_{other}"), Fault::WrongSecret),
        (format!("{}0", minted.token), Fault::WrongSecret),
        (format!("cm_0000000000000000_{secret}"), Fault::Unknown),
        (minted.token.to_uppercase(), Fault::Malformed),
    ];
    for (token, fault) in refused {
        assert_eq!(check(&table, &token, SystemTime::now()), Err(fault), "{token}");
    }
}

#[test]
fn the_file_does_not_hold_what_it_takes() {
    let (minted, _) = minted(Duration::from_secs(60));
    let secret = minted.token.rsplit_once('_').unwrap().1;
    assert_eq!(secret.len(), 64);
    assert!(!minted.line.contains(secret) && !format!("{minted:?}").contains(secret));
}

//! Sets of files that were changed: an error names the file.

use super::{error_with, files, new_set, read_small, write_small};
use serde_json::{Value, json};
use sparse_io::parts::{MANIFEST, PartSet};
use std::fs;
use std::io::{Cursor, Read, Write};

#[test]
fn a_changed_byte_never_gives_another_matrix() {
    let (_folder, path) = new_set();
    write_small(&path);
    let whole = read_small(&path).unwrap();
    for file in files(&path) {
        let is_manifest = file.ends_with(MANIFEST);
        let sound = fs::read(&file).unwrap();
        for at in 0..sound.len() {
            for change in if is_manifest { &[1, 2, 4, 8, 0x10, 0x80][..] } else { &[0x11] } {
                let mut changed = sound.clone();
                changed[at] ^= change;
                fs::write(&file, &changed).unwrap();
                match read_small(&path) {
                    Ok(read) => assert!(is_manifest && read == whole, "{}: byte {at}", file.display()),
                    Err(error) => assert!(error.to_string().contains(path.to_str().unwrap()), "{error}"),
                }
            }
            fs::write(&file, &sound[..at]).unwrap();
            assert!(read_small(&path).is_err() || at + 1 == sound.len() && is_manifest, "{at} bytes");
        }
        fs::write(&file, &sound).unwrap();
    }
    assert_eq!(read_small(&path).unwrap(), whole);
}

#[test]
fn claims_of_a_manifest_are_checked() {
    let (_folder, path) = new_set();
    write_small(&path);
    let parts = PartSet::open(&path).unwrap().parts().to_vec();
    let (first, second) = (&parts[0].file, &parts[1].file);
    let outside =
        |name: &str| (String::from("/parts/0/file"), json!(name), "is not the name of a part".into());
    let cases: Vec<(String, Value, String)> = vec![
        outside("../part.npz"),
        outside("/etc/part.npz"),
        outside("folder\\part.npz"),
        outside("C:part.npz"),
        outside(".npz"),
        outside(MANIFEST),
        ("/version".into(), json!(2), "version 2 where 1 is needed".into()),
        ("/format".into(), json!("coo"), "csr or csc is needed".into()),
        (
            "/format".into(),
            json!("csc"),
            "has csr of f64, 3 x 5, 3 entries, where the manifest says csc".into(),
        ),
        ("/dtype".into(), json!("f32"), "where the manifest says csr of f32".into()),
        ("/dtype".into(), json!("f16"), "the values are f16 where f32, f64, c32 or c64 is needed".into()),
        ("/shape".into(), json!([7, 5]), "the parts cover rows 0..6 where 0..7 is needed".into()),
        ("/shape".into(), json!([u64::MAX, 5]), "does not fit i64".into()),
        ("/kind/matrix/row_blocks".into(), json!(3), "2 parts where 3 x 1 blocks are needed".into()),
        ("/kind/matrix/row_blocks".into(), json!(u64::MAX), "2 parts where".into()),
        ("/kind".into(), json!({"batch": {"members": 2}}), "covers a block where members".into()),
        ("/parts".into(), json!([]), "0 parts where 2 x 1 blocks are needed".into()),
        (
            "/parts/1/covers/block/rows/start".into(),
            json!(2), // an overlap
            format!("`{second}` covers rows 2..6 where a range from 3 to at most 6 is needed"),
        ),
        (
            "/parts/1/covers/block/rows/start".into(),
            json!(4), // a gap
            format!("`{second}` covers rows 4..6 where a range from 3 to at most 6 is needed"),
        ),
        ("/parts/1/covers/block/rows/end".into(), json!(7), "covers rows 3..7".into()),
        (
            "/parts/1/covers/block/cols/end".into(),
            json!(4),
            format!("`{second}` covers rows 3..6 and columns 0..4 where 3..6 and 0..5 are needed"),
        ),
        ("/parts/0/shape".into(), json!([3, 4]), format!("`{first}` has shape 3 x 4 where 3 x 5 is needed")),
        ("/parts/0/nnz".into(), json!(4), "has csr of f64, 3 x 5, 3 entries, where the".into()),
        ("/parts/0/nnz".into(), json!(u64::MAX), "more entries than can be counted".into()),
        (
            "/parts/0/bytes".into(),
            json!(1_u64 << 60),
            "bytes where the manifest says 1152921504606846976".into(),
        ),
        ("/parts/0/crc32c".into(), json!(7), "where the manifest says 7".into()),
        ("/parts/0/crc32c".into(), json!(-7), "not a manifest of parts".into()),
        ("/parts/0/file".into(), json!("missing.npz"), "missing.npz: No such file".into()),
        ("/parts/0/file".into(), json!(second), format!("{second}: has ")),
        ("/parts/0".into(), json!({"file": first, "more": 1}), "unknown field `more`".into()),
    ];
    for (pointer, value, expected) in cases {
        let error = error_with(&path, &pointer, value.clone());
        assert!(error.contains(&expected), "{pointer} = {value}: {error}");
    }
}

#[cfg(unix)]
#[test]
fn a_link_out_of_the_folder_is_not_followed() {
    let (folder, path) = new_set();
    write_small(&path);
    let (part, outside) = (files(&path).remove(1), folder.path().join("outside.npz"));
    fs::rename(&part, &outside).unwrap();
    std::os::unix::fs::symlink(&outside, &part).unwrap();
    let error = read_small(&path).unwrap_err().to_string();
    assert_eq!(error, format!("{}: not a file of this folder", part.display()));
}

/// An `.npz` file with another last index.
fn with_last_index(npz: &[u8], index: i32) -> Vec<u8> {
    let mut archive = zip::ZipArchive::new(Cursor::new(npz)).unwrap();
    let mut changed = zip::ZipWriter::new(Cursor::new(vec![]));
    for k in 0..archive.len() {
        let mut member = archive.by_index(k).unwrap();
        let (name, mut array) = (member.name().unwrap().into_owned(), vec![]);
        member.read_to_end(&mut array).unwrap();
        if name == "indices.npy" {
            let at = array.len() - 4;
            array[at..].copy_from_slice(&index.to_le_bytes());
        }
        changed.start_file(name, zip::write::SimpleFileOptions::default()).unwrap();
        changed.write_all(&array).unwrap();
    }
    changed.finish().unwrap().into_inner()
}

#[test]
fn arrays_are_checked_behind_a_right_checksum() {
    let (_folder, path) = new_set();
    write_small(&path);
    let (manifest, part) = (path.join(MANIFEST), files(&path).remove(1));
    let forged = with_last_index(&fs::read(&part).unwrap(), 5);
    fs::write(&part, &forged).unwrap();
    let mut json: Value = serde_json::from_slice(&fs::read(&manifest).unwrap()).unwrap();
    json["parts"][0]["bytes"] = json!(forged.len());
    json["parts"][0]["crc32c"] = json!(crc32c::crc32c(&forged));
    fs::write(&manifest, json.to_string()).unwrap();
    let error = read_small(&path).unwrap_err().to_string();
    assert_eq!(error, format!("{}: csr: row 2: column 5 is not below 5", part.display()));
}

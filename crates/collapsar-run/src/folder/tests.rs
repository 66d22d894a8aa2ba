use super::*;
use collapsar_formats::Outcome;
use serde_json::Map;

/// All files below a folder.
fn names(folder: &Path) -> Vec<String> {
    let mut files = Vec::new();
    list(folder, &mut files).unwrap();
    let below = |file: &PathBuf| file.strip_prefix(folder).unwrap().display().to_string();
    let mut names: Vec<String> = files.iter().map(below).collect();
    names.sort();
    names
}

fn put(folder: &Path, files: &[&str], content: &str) {
    for file in files {
        let path = folder.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
}

fn record() -> Run {
    Run {
        version: "0.1.0".into(),
        command: vec!["collapsar".into(), "fit".into()],
        config: json!({}),
        inputs: vec![],
        outcome: Outcome {
            converged: true,
            reason: "gain below 1e-6".into(),
        },
        bound: -1.0,
        iterations: 1,
        passes: 1,
        seconds: 0.0,
        seed: 0,
        extra: Map::new(),
    }
}

fn staged(target: &Path, files: &[&str]) -> RunFolder {
    let folder = RunFolder::begin(target).unwrap();
    put(folder.path(), files, "new");
    folder.record(record()).unwrap();
    folder
}

/// A target of an earlier version, by the words that it was called by.
fn old_run(target: &Path, command: &[&str], files: &[&str]) {
    put(target, files, "old");
    let run = json!({"version": "0.1.0", "command": command});
    fs::write(target.join(RUN), run.to_string()).unwrap();
}

#[test]
fn dropped_it_leaves_the_target_as_it_was() {
    let place = tempfile::tempdir().unwrap();
    let target = place.path().join("deep/fit");
    drop(staged(&target, &["a", "below/b"]));
    assert!(!target.exists());

    put(&target, &["a", "notes"], "old");
    drop(staged(&target, &["a", "below/b"]));
    assert_eq!(names(&target), ["a", "notes"]);
    assert_eq!(fs::read(target.join("a")).unwrap(), b"old");
}

#[test]
fn everything_is_moved_and_listed() {
    let place = tempfile::tempdir().unwrap();
    let target = place.path().join("fit");
    let folder = staged(&target, &["b", "a", "below/deep/c"]);
    assert_eq!(names(&target).len(), 4);
    assert!(!target.join(RUN).exists());
    folder.commit().unwrap();
    assert_eq!(names(&target), ["a", "b", "below/deep/c", RUN]);
    let run: Value = serde_json::from_slice(&fs::read(target.join(RUN)).unwrap()).unwrap();
    assert_eq!(run[FILES], json!(["a", "b", "below/deep/c"]));
    assert_eq!(fs::read_dir(&target).unwrap().count(), 4);
}

#[test]
fn what_this_run_has_not_goes_and_what_is_somebody_else_s_stays() {
    let place = tempfile::tempdir().unwrap();
    let target = place.path();
    staged(target, &["a", "below/b", "below/deep/c"])
        .commit()
        .unwrap();
    put(target, &["notes", "below/notes"], "");
    staged(target, &["a"]).commit().unwrap();
    assert_eq!(names(target), ["a", "below/notes", "notes", RUN]);
    assert!(!target.join("below/deep").exists());
    // A folder without a run of ours has nothing to remove, whatever its files are called.
    for run in [
        "",
        "{}",
        "[1]",
        r#"{"files": 3}"#,
        r#"{"command": ["fit"]}"#,
    ] {
        fs::write(target.join(RUN), run).unwrap();
        put(target, &["posterior.csv"], "");
        staged(target, &["a"]).commit().unwrap();
        assert!(target.join("posterior.csv").exists());
    }
}

#[test]
fn runs_of_other_commands_and_versions() {
    let place = tempfile::tempdir().unwrap();
    for (command, names) in KNOWN {
        let target = place.path().join(command);
        let names: Vec<&str> = names.split(' ').collect();
        old_run(&target, &["collapsar", "--quiet", command], &names);
        put(&target, &["mine.csv", "average/topics-7.json"], "");
        staged(&target, &["a"]).commit().unwrap();
        let mut left = vec!["a", "average/topics-7.json", "mine.csv", RUN];
        left.retain(|name| command != "topics" || !name.starts_with("average"));
        assert_eq!(self::names(&target), left, "{command}");
    }
    // What another command would have written is somebody else's.
    let target = place.path().join("other");
    old_run(&target, &["collapsar", "mixture"], &["components.json"]);
    put(&target, &["topics.csv"], "");
    staged(&target, &["a"]).commit().unwrap();
    assert_eq!(names(&target), ["a", RUN, "topics.csv"]);
}

#[test]
fn a_list_reaches_nothing_outside() {
    let place = tempfile::tempdir().unwrap();
    let target = place.path().join("fit");
    let outside = place.path().join("outside");
    put(&target, &["a"], "");
    fs::write(&outside, "").unwrap();
    let run = json!({"files": ["../outside", outside, "a", "./a"]});
    fs::write(target.join(RUN), run.to_string()).unwrap();
    staged(&target, &["b"]).commit().unwrap();
    assert!(outside.exists());
    assert_eq!(names(&target), ["b", RUN]);
}

#[test]
fn stopped_in_the_midst() {
    let place = tempfile::tempdir().unwrap();
    let target = place.path();
    staged(target, &["a", "old"]).commit().unwrap();
    // Killed before its end: what it was writing stays, and is nobody's.
    std::mem::forget(staged(target, &["a", "lost"]));
    staged(target, &["a", "new"]).commit().unwrap();
    let left = names(target);
    let left: Vec<&String> = left.iter().filter(|name| !name.starts_with('.')).collect();
    assert_eq!(left, ["a", "new", RUN]);

    // A folder where a file has to be is seen before anything is touched.
    fs::create_dir(target.join("taken")).unwrap();
    let refused = staged(target, &["a", "taken"]).commit().unwrap_err();
    let place = target.display();
    assert_eq!(
        refused.to_string(),
        format!("{place}/taken: is a folder, expected a file")
    );
    assert!(target.join(RUN).exists() && target.join("new").exists());
    let refused = staged(target, &["new/below"]).commit().unwrap_err();
    assert!(refused.to_string().contains("new: a file of that name"));
    assert!(target.join(RUN).exists() && target.join("new").exists());

    // A move that fails is taken back, and so are those before it.
    let folder = staged(target, &["a", "b"]);
    let mut files = folder.written().unwrap();
    files.push("ghost".into());
    let mut moves = Moves::default();
    let refused = folder.move_all(&files, &mut moves).unwrap_err();
    assert!(refused.to_string().contains("ghost"), "{refused}");
    assert!(!target.join(RUN).exists() && !target.join("new").exists());
    moves.undo();
    drop(folder);
    let left = names(target);
    let left: Vec<&String> = left.iter().filter(|name| !name.starts_with('.')).collect();
    assert_eq!(left, ["a", "new", RUN]);
}

/// Runs that end at once: whichever is last is there whole.
#[cfg(unix)]
#[test]
fn many_at_once() {
    let place = tempfile::tempdir().unwrap();
    let target = place.path().join("fit");
    std::thread::scope(|scope| {
        for id in 0..4 {
            let target = &target;
            scope.spawn(move || {
                let own: Vec<String> = (0..12).map(|file| format!("{id}-{file}")).collect();
                let own: Vec<&str> = own.iter().map(String::as_str).collect();
                for _ in 0..20 {
                    let folder = RunFolder::begin(target).unwrap();
                    put(folder.path(), &own, "");
                    put(folder.path(), &["same"], &id.to_string());
                    folder.record(record()).unwrap();
                    folder.commit().unwrap();
                }
            });
        }
    });
    let id = fs::read_to_string(target.join("same")).unwrap();
    let mut expected: Vec<String> = (0..12).map(|file| format!("{id}-{file}")).collect();
    expected.extend([RUN.to_owned(), "same".to_owned()]);
    expected.sort();
    assert_eq!(names(&target), expected);
}

/// What a dead process left is gone after the next run.
#[cfg(unix)]
#[test]
fn leftovers_are_removed() {
    let place = tempfile::tempdir().unwrap();
    let left = place.path().join(".run.0123456789abcdef.tmp");
    put(&left, &["new/a"], "lost");
    staged(place.path(), &["b"]).commit().unwrap();
    assert_eq!(names(place.path()), ["b", RUN]);
}

/// An input that a run into the folder would replace.
#[test]
fn an_input_is_not_replaced() {
    let place = tempfile::tempdir().unwrap();
    let target = place.path().join("fit");
    staged(&target, &["draws.csv", "table"]).commit().unwrap();
    for (file, refused) in [("draws.csv", true), ("table", true), ("other", false)] {
        put(&target, &[file], "data");
        let folder = RunFolder::begin(&target).unwrap();
        let begun = folder.after(Witness::of([target.join(file)]));
        assert_eq!(begun.is_err(), refused, "{file}");
    }
}

#[test]
fn two_at_once() {
    let place = tempfile::tempdir().unwrap();
    let (first, second) = (staged(place.path(), &["a"]), staged(place.path(), &["b"]));
    assert_ne!(first.path(), second.path());
    first.commit().unwrap();
    second.commit().unwrap();
    assert_eq!(names(place.path()), ["b", RUN]);
}

#[test]
fn a_target_that_cannot_be() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("file");
    fs::write(&file, "").unwrap();
    let refused = RunFolder::begin(&file).unwrap_err().to_string();
    assert!(refused.contains("file: a file of that name"), "{refused}");
    assert_eq!(fs::read(&file).unwrap(), b"");
}

#[test]
fn a_folder_that_clearing_leaves_empty_is_made_again() {
    let place = tempfile::tempdir().unwrap();
    let target = place.path().join("fit");
    staged(&target, &["below/old"]).commit().unwrap();
    staged(&target, &["below/new"]).commit().unwrap();
    assert_eq!(names(&target), ["below/new", RUN]);
}

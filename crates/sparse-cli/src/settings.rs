//! The file of `nnz serve --config`: its values become the defaults of the options, so that those of the command line
//! come first, then those of the environment.

use clap::error::{ContextKind, ErrorKind};
use clap::parser::ValueSource;
use clap::{ArgMatches, Command, Error};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use toml_edit::{Document, Item, Value};

/// The variable in which a worker process finds the text of the file as it was at the start of the server.
pub(crate) const INHERITED: &str = "NNZ_SERVE_SETTINGS";

/// Options of all subcommands that the file may have.
const GLOBAL: [&str; 3] = ["backend", "device", "threads"];
/// Options of `serve` that it may not have.
const NOT_IN_FILE: [&str; 4] = ["config", "worker", "help", "version"];

/// Returns the command with the settings of the file that `serve --config` names, if these arguments have it.
///
/// # Errors
/// A file that cannot be read, and a setting that is wrong, with its line.
pub(crate) fn with_file(command: Command, arguments: &[OsString]) -> Result<Command, Error> {
    // The second parse, with the defaults, finds errors of the arguments.
    let parsed = command.clone().ignore_errors(true).try_get_matches_from(arguments);
    let Ok(Some(("serve", given))) = parsed.as_ref().map(ArgMatches::subcommand) else { return Ok(command) };
    let Some(path) = given.get_one::<PathBuf>("config") else { return Ok(command) };
    let settings = read(path).and_then(|text| parse(&text));
    let applied = settings.and_then(|settings| apply(command.clone(), settings, given));
    applied.map_err(|reason| {
        Error::raw(ErrorKind::ValueValidation, format!("{}: {reason}\n", path.display())).with_cmd(&command)
    })
}

/// The text of the file; of a worker that which the server has read.
pub(crate) fn read(path: &Path) -> Result<String, String> {
    match std::env::var(INHERITED) {
        Ok(text) => Ok(text),
        Err(_) => std::fs::read_to_string(path).map_err(|error| error.to_string()),
    }
}

/// An option by its long name, with its value as the command line has it.
#[derive(Debug, PartialEq, Eq)]
struct Setting {
    line: usize,
    name: String,
    value: String,
}

/// Parses the settings, in TOML: `name = value`.
fn parse(text: &str) -> Result<Vec<Setting>, String> {
    let line_of = |position: usize| 1 + text[..position].matches('\n').count();
    let document = Document::parse(text).map_err(|error| {
        let line = error.span().map_or(1, |span| line_of(span.start));
        format!("line {line}: {}", error.message())
    })?;
    let settings = document.iter().map(|(name, item)| {
        let span = document.key(name).and_then(|key| key.span());
        let line = span.map_or(1, |span| line_of(span.start));
        let needed = || format!("line {line}: `{name}`: a text, a whole number or a list of them is needed");
        Ok(Setting { line, name: name.into(), value: text_of(item).ok_or_else(needed)? })
    });
    settings.collect()
}

/// The value of a setting: texts and whole numbers as they are, lists with commas.
fn text_of(item: &Item) -> Option<String> {
    let scalar = |value: &Value| match value {
        Value::String(text) => Some(text.value().clone()),
        Value::Integer(number) => Some(number.value().to_string()),
        _ => None,
    };
    match item.as_value()? {
        Value::Array(list) => {
            list.iter().map(scalar).collect::<Option<Vec<_>>>().map(|parts| parts.join(","))
        }
        value => scalar(value),
    }
}

/// Makes each setting the default of its option, unless an option that overrides it was `given`.
fn apply(mut command: Command, settings: Vec<Setting>, given: &ArgMatches) -> Result<Command, String> {
    let is_there = |name: &str| settings.iter().any(|setting| setting.name == name);
    if is_there("devices") && (is_there("backend") || is_there("device")) {
        return Err("`devices` takes the place of `backend` and `device`: leave those out".into());
    }
    let is_given = |name: &str| {
        let source = given.value_source(name);
        source.is_some_and(|source| source != ValueSource::DefaultValue)
    };
    let devices_are_given = ["devices", "backend", "device"].into_iter().any(is_given);
    let is_replaced = |name: &str| devices_are_given && matches!(name, "devices" | "backend" | "device");
    for setting in &settings {
        check(&command, setting).map_err(|reason| format!("line {}: {reason}", setting.line))?;
    }
    for setting in settings.into_iter().filter(|setting| !is_replaced(&setting.name)) {
        command = with_default(command, setting);
    }
    Ok(command)
}

/// Fails for a setting that is no option, or whose value the option does not take.
fn check(command: &Command, setting: &Setting) -> Result<(), String> {
    let known = names(command);
    if !known.contains(&setting.name) {
        return Err(format!("unknown setting `{}`: one of {}", setting.name, known.join(", ")));
    }
    let argument = format!("--{}={}", setting.name, setting.value);
    let parsed = command.clone().try_get_matches_from(["nnz", "serve", &argument]);
    let is_of_option = |error: &Error| {
        let option = error.get(ContextKind::InvalidArg).map(ToString::to_string).unwrap_or_default();
        option.split(' ').next() == Some(&format!("--{}", setting.name))
    };
    match parsed {
        Err(error)
            if matches!(error.kind(), ErrorKind::ValueValidation | ErrorKind::InvalidValue)
                && is_of_option(&error) =>
        {
            let message = error.to_string();
            Err(message.lines().next().unwrap_or_default().trim_start_matches("error: ").into())
        }
        // Others that are needed are not there yet.
        _ => Ok(()),
    }
}

/// The names of all settings.
fn names(command: &Command) -> Vec<String> {
    let serve = command.find_subcommand("serve");
    let options = serve.into_iter().flat_map(Command::get_arguments).filter_map(|option| option.get_long());
    let own = options.filter(|name| !NOT_IN_FILE.contains(name));
    own.chain(GLOBAL).map(str::to_owned).collect()
}

fn with_default(command: Command, setting: Setting) -> Command {
    let is_global = GLOBAL.contains(&&*setting.name);
    let id = setting.name.replace('-', "_");
    // The command needs a `'static` value.
    let value: &'static str = setting.value.leak();
    if is_global {
        return command.mut_arg(id, |option| option.default_value(value));
    }
    command.mut_subcommand("serve", |serve| {
        serve.mut_arg(id, |option| option.required(false).default_value(value))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arguments::Arguments;
    use clap::CommandFactory;

    fn matches(text: &str, options: &[&str]) -> Result<ArgMatches, String> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        let path = file.path().to_str().unwrap();
        let arguments: Vec<OsString> =
            ["nnz", "serve", "--config", path].iter().chain(options).map(Into::into).collect();
        let command = with_file(Arguments::command(), &arguments).map_err(|error| error.to_string())?;
        let matches = command.try_get_matches_from(arguments).map_err(|error| error.to_string())?;
        Ok(matches.subcommand_matches("serve").unwrap().clone())
    }

    #[test]
    fn options_come_before_the_file() {
        let file = "# limits\ndata = '/data'\nmemory = \"2G\"\ntenant-rate = 7\nthreads = 3\n";
        let found = matches(file, &["--memory", "1G"]).unwrap();
        assert_eq!(found.get_one::<u64>("memory"), Some(&(1 << 30)));
        assert_eq!(found.get_one::<PathBuf>("data"), Some(&"/data".into()));
        assert_eq!(found.get_one::<u32>("tenant_rate"), Some(&7));
        assert_eq!(found.get_one::<usize>("threads"), Some(&3));
    }

    #[test]
    fn devices_of_the_command_line_take_the_place_of_those_of_the_file() {
        let file = "data = 'd'\nmemory = 1024\ndevices = ['cpu', 'cpu']\n";
        let devices = |options: &[&str]| {
            let found = matches(file, options).unwrap();
            found.get_many::<crate::named_device::NamedDevice>("devices").map_or(0, Iterator::count)
        };
        assert_eq!((devices(&[]), devices(&["--devices", "cpu"]), devices(&["--backend", "cpu"])), (2, 1, 0));
    }

    #[test]
    fn wrong_files_say_which_line_and_what_is_right() {
        for (file, reason) in [
            ("data = 'd'\nmemroy = '1G'", "line 2: unknown setting `memroy`: one of listen, data, memory"),
            ("\nmemory = '1 apple'", "line 2: invalid value '1 apple' for '--memory <SIZE>'"),
            ("workers = 'maybe'", "line 1: invalid value 'maybe' for '--workers <SWITCH>'"),
            ("memory = 1.5", "line 1: `memory`: a text, a whole number"),
            ("[serve]\nmemory = 1", "line 1: `serve`: a text"),
            ("data = 'd'\ndata = 'e'", "line 2: "),
            ("config = 'other'", "unknown setting `config`"),
            ("devices = 'cpu'\nbackend = 'cpu'", "takes the place of"),
        ] {
            let found = matches(file, &[]).unwrap_err();
            assert!(found.contains(reason), "{file}: {found}");
        }
        assert!(matches("memory = '1G'", &[]).unwrap_err().contains("--data <DIR>"));
    }
}

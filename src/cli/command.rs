//! The list of commands, and the function that runs one of them. Exit codes are 0 for success, 1 for a failure, 2 for
//! bad input, 3 for work that was done only in part, and 130 if Ctrl-C stopped an SQL statement.

use std::process::ExitCode;

use clap::builder::{StringValueParser, TypedValueParser};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

use super::configuration::{apply, check as config};
use super::help;
use super::lake::lake_key::LakeKey;
use super::lake::seal;
use super::lake::{backup, check, compact, erase, generate, import, info, restore};
use super::program::{completions, man, read_attachments};
use super::query::sql;
use super::query::{everything, fhirpath, pdf, run as run_view, run_plan, search, show, summary, validate_view};
use super::service::bench;
use super::service::{
    app, audit, consents, console, demo, endpoint, keys, listen, receipt, sandbox, serve, sync, token,
};
use super::tables::{normalize, plans, terminology};
use super::terminal::failure::Failure;
use super::terminal::manner;

/// Import, search, tabulate and serve health records (FHIR R4)
#[derive(Debug, Parser)]
#[command(name = "tabularium", version = env!("TABULARIUM_VERSION"), arg_required_else_help = true, styles = manner::HELP)]
struct Arguments {
    #[command(flatten)]
    lake_key: LakeKey,
    /// Print only results, warnings and errors
    #[arg(short, long, global = true)]
    quiet: bool,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Bench(bench::Args),
    Demo(demo::Args),
    Everything(everything::Args),
    Pdf(pdf::Args),
    Fhirpath(fhirpath::Args),
    Generate(generate::Args),
    Import(import::Args),
    Normalize(normalize::Args),
    Info(info::Args),
    Run(run_view::Args),
    RunPlan(run_plan::Args),
    Sandbox(sandbox::Args),
    Search(search::SearchArgs),
    Explain(search::ExplainArgs),
    Plans(plans::Args),
    Serve(serve::Args),
    Show(show::ShowArgs),
    Describe(show::DescribeArgs),
    Sql(sql::Args),
    Terminology(terminology::Args),
    Token(token::Args),
    ValidateView(validate_view::Args),
    Check(check::Args),
    Compact(compact::Args),
    Seal(seal::SealArgs),
    Unseal(seal::UnsealArgs),
    Erase(erase::Args),
    Receipt(receipt::Args),
    Backup(backup::Args),
    Restore(restore::Args),
    App(app::Args),
    Endpoint(endpoint::Args),
    Keys(keys::Args),
    Listen(listen::Args),
    Consents(consents::Args),
    Console(console::Args),
    Summary(summary::Args),
    Sync(sync::Args),
    Audit(audit::Args),
    Config(config::Args),
    Completions(completions::Args),
    Man(man::Args),
}

/// Builds the clap command with all subcommands and options.
pub(super) fn program() -> clap::Command {
    help::grouped(with_references(with_sources(Arguments::command())))
}

/// Lets each `--patient` take a reference (`Patient/ID`) in the place of an id.
fn with_references(command: clap::Command) -> clap::Command {
    let takes_patient = command.get_arguments().any(|argument| argument.get_id() == "patient");
    let command = if takes_patient {
        let id = |text: String| text.strip_prefix("Patient/").unwrap_or(&text).to_owned();
        command.mut_arg("patient", |patient| {
            patient.value_parser(StringValueParser::new().map(id))
        })
    } else {
        command
    };
    command.mut_subcommands(with_references)
}

/// Names the environment variable for the data folder in the help of each `--data`, except that of `demo`.
fn with_sources(command: clap::Command) -> clap::Command {
    let takes_data = command.get_arguments().any(|argument| argument.get_id() == "data");
    let command = if takes_data && command.get_name() != "demo" {
        command.mut_arg("data", |data| {
            let help = data.get_help().map(ToString::to_string).unwrap_or_default();
            data.help(format!("{help} [env: {}]", apply::VARIABLE))
        })
    } else {
        command
    };
    command.mut_subcommands(with_sources)
}

/// Parses the arguments of the process, runs the command and returns the exit code. After a parse error or a request
/// for help, clap ends the process.
pub fn run() -> ExitCode {
    if let Some(code) = read_attachments::run_if_asked() {
        return code;
    }
    let program = program();
    let line = match apply::completed(&program, std::env::args_os().collect()) {
        Ok(line) => line,
        Err(failure) => return failure.report(),
    };
    let parsed = program.clone().try_get_matches_from(&line);
    let parsed = parsed.and_then(|matches| Arguments::from_arg_matches(&matches));
    let arguments = parsed.unwrap_or_else(|error| help::with_tips(with_hint(error), &program, &line).exit());
    if arguments.quiet {
        manner::be_quiet();
    }
    let outcome = arguments.lake_key.apply();
    match outcome.and_then(|()| carry_out(arguments.command, program)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}

/// Adds a hint to clap's error about a missing `--data`: the variable and the setting that can give the folder.
fn with_hint(mut error: clap::Error) -> clap::Error {
    let of_data = match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::Strings(missing)) => missing.iter().any(|missing| missing.contains("--data <")),
        _ => false,
    };
    if error.kind() == ErrorKind::MissingRequiredArgument && of_data {
        let hint = format!(
            "{} or data in tabularium.toml names the folder for all commands",
            apply::VARIABLE
        );
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![hint.into()]));
    }
    error
}

fn carry_out(command: Command, program: clap::Command) -> Result<(), Failure> {
    match command {
        Command::Bench(arguments) => bench::run(arguments),
        Command::Demo(arguments) => demo::run(arguments),
        Command::Everything(arguments) => everything::run(arguments),
        Command::Pdf(arguments) => pdf::run(arguments),
        Command::Fhirpath(arguments) => fhirpath::run(arguments),
        Command::Generate(arguments) => generate::run(arguments),
        Command::Import(arguments) => import::run(arguments),
        Command::Normalize(arguments) => normalize::run(arguments),
        Command::Info(arguments) => info::run(arguments),
        Command::Run(arguments) => run_view::run(arguments),
        Command::RunPlan(arguments) => run_plan::run(arguments),
        Command::Sandbox(arguments) => sandbox::run(arguments),
        Command::Search(arguments) => search::search(arguments),
        Command::Explain(arguments) => search::explain(arguments),
        Command::Plans(arguments) => plans::run(arguments),
        Command::Serve(arguments) => serve::run(arguments),
        Command::Show(arguments) => show::show(arguments),
        Command::Describe(arguments) => show::describe(arguments),
        Command::Sql(arguments) => sql::run(arguments),
        Command::Terminology(arguments) => terminology::run(arguments),
        Command::Token(arguments) => token::run(arguments),
        Command::ValidateView(arguments) => validate_view::run(arguments),
        Command::Check(arguments) => check::run(arguments),
        Command::Compact(arguments) => compact::run(arguments),
        Command::Seal(arguments) => seal::seal(arguments),
        Command::Unseal(arguments) => seal::unseal(arguments),
        Command::Erase(arguments) => erase::run(arguments),
        Command::Receipt(arguments) => receipt::run(arguments),
        Command::Backup(arguments) => backup::run(arguments),
        Command::Restore(arguments) => restore::run(arguments),
        Command::App(arguments) => app::run(arguments),
        Command::Endpoint(arguments) => endpoint::run(arguments),
        Command::Keys(arguments) => keys::run(arguments),
        Command::Listen(arguments) => listen::run(&arguments),
        Command::Consents(arguments) => consents::run(arguments),
        Command::Console(arguments) => console::run(arguments),
        Command::Summary(arguments) => summary::run(arguments),
        Command::Sync(arguments) => sync::run(arguments),
        Command::Audit(arguments) => audit::run(arguments),
        Command::Config(arguments) => config::run(arguments, &program),
        Command::Completions(arguments) => completions::run(arguments, program),
        Command::Man(arguments) => man::run(arguments, program),
    }
}

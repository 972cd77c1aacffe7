//! The list of commands and the exit code each outcome has: 0 done, 1 failed, 2 bad input, 3 done in part.

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use super::lake::lake_key::LakeKey;
use super::lake::seal;
use super::lake::{backup, check, compact, erase, generate, import, info, restore};
use super::query::sql;
use super::query::{everything, fhirpath, pdf, run as run_view, run_plan, search, summary, validate_view};
use super::service::bench;
use super::service::{app, audit, consents, console, demo, endpoint, keys, receipt, sandbox, serve, sync, token};
use super::tables::{normalize, plans, terminology};
use super::terminal::failure::Failure;

/// Health records in columns: a FHIR R4 engine over Parquet.
#[derive(Debug, Parser)]
#[command(name = "tabularium", version, about, arg_required_else_help = true)]
struct Arguments {
    #[command(flatten)]
    lake_key: LakeKey,
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
    Consents(consents::Args),
    Console(console::Args),
    Summary(summary::Args),
    Sync(sync::Args),
    Audit(audit::Args),
}

/// Parses the process's arguments and carries the command out.
pub fn run() -> ExitCode {
    let Arguments { lake_key, command } = Arguments::parse();
    let outcome = lake_key.apply().and_then(|()| carry_out(command));
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}

fn carry_out(command: Command) -> Result<(), Failure> {
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
        Command::Consents(arguments) => consents::run(arguments),
        Command::Console(arguments) => console::run(arguments),
        Command::Summary(arguments) => summary::run(arguments),
        Command::Sync(arguments) => sync::run(arguments),
        Command::Audit(arguments) => audit::run(arguments),
    }
}

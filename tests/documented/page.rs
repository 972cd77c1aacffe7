//! The lines of a page that one would type, and what the page shows below each.

/// A line, or several that are one.
#[derive(Debug)]
pub(super) struct Step {
    /// The number of its first line.
    pub(super) line: usize,
    pub(super) command: String,
    /// What the page shows; `None` in a block of commands alone.
    pub(super) shown: Option<Vec<String>>,
}

/// Commands of the blocks without a prompt.
const PROGRAMS: [&str; 5] = ["tabularium ", "curl ", "cargo ", "head -c", "(umask"];

/// The fenced blocks, each with the number of its first line.
pub(super) fn blocks(text: &str) -> Vec<(usize, Vec<&str>)> {
    let mut blocks: Vec<(usize, Vec<&str>)> = Vec::new();
    let mut inside = false;
    for (at, line) in text.lines().enumerate() {
        if line.starts_with("```") {
            inside = !inside;
            if inside {
                blocks.push((at + 2, Vec::new()));
            }
        } else if inside && let Some((_, lines)) = blocks.last_mut() {
            lines.push(line);
        }
    }
    blocks
}

/// What a page has one type. In a block with lines that begin with `$ ` these are it, and the others are shown.
pub(super) fn steps(text: &str) -> Vec<Step> {
    let mut steps = Vec::new();
    for (first, lines) in blocks(text) {
        let prompted = lines.iter().any(|line| line.starts_with("$ "));
        let before = steps.len();
        let mut rest = lines.iter().enumerate();
        while let Some((at, line)) = rest.next() {
            let typed = match prompted {
                true => line.strip_prefix("$ "),
                false if PROGRAMS.iter().any(|program| line.starts_with(program)) => Some(without_comment(line)),
                false => None,
            };
            if let Some(typed) = typed {
                let mut command = typed.to_owned();
                while goes_on(&command) {
                    let Some((_, more)) = rest.next() else { break };
                    command.push('\n');
                    command.push_str(more);
                }
                steps.push(Step {
                    line: first + at,
                    command,
                    shown: prompted.then(Vec::new),
                });
            } else if let Some(shown) = steps[before..]
                .last_mut()
                .and_then(|step: &mut Step| step.shown.as_mut())
            {
                shown.push((*line).to_owned());
            }
        }
    }
    steps
}

fn goes_on(command: &str) -> bool {
    let is_open = |quote: char| !command.matches(quote).count().is_multiple_of(2);
    command.ends_with('\\') || is_open('"') || is_open('\'')
}

/// Behind several spaces stands what a command does.
fn without_comment(line: &str) -> &str {
    line.split_once("   ").map_or(line, |(typed, _)| typed)
}

#[test]
fn lines_with_a_prompt_are_typed_and_others_shown() {
    let text =
        "text\n```\n$ tabularium a \\\n    --b\nfirst\n$ curl x\n```\n```\ntabularium c   the thing's use\nelse\n```\n";
    let steps = steps(text);
    let found: Vec<(usize, &str)> = steps.iter().map(|step| (step.line, step.command.as_str())).collect();
    assert_eq!(
        found,
        [(3, "tabularium a \\\n    --b"), (6, "curl x"), (9, "tabularium c")]
    );
    let shown: Vec<_> = steps.iter().map(|step| step.shown.clone()).collect();
    assert_eq!(shown, [Some(vec!["first".to_owned()]), Some(Vec::new()), None]);
}

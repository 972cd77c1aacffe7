//! The lines of a page that one would type, and what the page shows below each. They stand in blocks without a
//! language; blocks of anything else name theirs.

/// A line, or several that are one.
#[derive(Debug)]
pub(super) struct Step {
    /// The number of its first line.
    pub(super) line: usize,
    pub(super) command: String,
    /// The output that the page shows. `None` in a block that has only commands.
    pub(super) shown: Option<Vec<String>>,
}

/// A fenced block.
#[derive(Debug)]
pub(super) struct Block<'t> {
    /// The number of its first line.
    first: usize,
    /// The word after the fence.
    language: &'t str,
    pub(super) lines: Vec<&'t str>,
}

impl Block<'_> {
    fn is_typed(&self) -> bool {
        ["", "sh", "bash", "console"].contains(&self.language)
    }
}

/// The fenced blocks.
pub(super) fn blocks(text: &str) -> Vec<Block<'_>> {
    let mut blocks: Vec<Block<'_>> = Vec::new();
    let mut inside = false;
    for (at, line) in text.lines().enumerate() {
        if let Some(language) = line.strip_prefix("```") {
            inside = !inside;
            if inside {
                blocks.push(Block {
                    first: at + 2,
                    language: language.trim(),
                    lines: Vec::new(),
                });
            }
        } else if inside && let Some(block) = blocks.last_mut() {
            block.lines.push(line);
        }
    }
    blocks
}

/// The commands of a page. In a block with lines that begin with `$ `, these lines are commands and the others are
/// output. In other blocks each line is a command.
pub(super) fn steps(text: &str) -> Vec<Step> {
    let mut steps = Vec::new();
    for Block { first, lines, .. } in blocks(text).into_iter().filter(Block::is_typed) {
        let prompted = lines.iter().any(|line| line.starts_with("$ "));
        assert!(
            !prompted || lines[0].starts_with("$ "),
            "line {first} is shown by no command"
        );
        let before = steps.len();
        let mut rest = lines.iter().enumerate();
        while let Some((at, line)) = rest.next() {
            let typed = if prompted {
                line.strip_prefix("$ ")
            } else {
                Some(without_comment(line)).filter(|typed| !typed.trim().is_empty())
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

/// Removes the explanation of a command, which follows several spaces.
fn without_comment(line: &str) -> &str {
    line.split_once("   ").map_or(line, |(typed, _)| typed)
}

#[test]
fn lines_with_a_prompt_are_typed_and_others_shown() {
    let text = "text\n```\n$ tabularium a \\\n    --b\nfirst\n$ curl x\n```\n\
                ```\ntabularium c   the thing's use\n\nany d\n```\n```json\n{}\n```\n";
    let steps = steps(text);
    let found: Vec<(usize, &str)> = steps.iter().map(|step| (step.line, step.command.as_str())).collect();
    assert_eq!(
        found,
        [
            (3, "tabularium a \\\n    --b"),
            (6, "curl x"),
            (9, "tabularium c"),
            (11, "any d")
        ]
    );
    let shown: Vec<_> = steps.iter().map(|step| step.shown.clone()).collect();
    assert_eq!(shown, [Some(vec!["first".to_owned()]), Some(Vec::new()), None, None]);
}

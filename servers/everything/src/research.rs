//! A tool that runs only as a task, with progress and elicitation.

use std::time::Duration;

use couplet::{
    prelude::*,
    tasks::Tasks,
    types::{ElicitAction, ElicitParams, ElicitSchema, EnumSchema},
};

use crate::App;

const STAGES: [&str; 4] = ["Gathering sources", "Analyzing content", "Synthesizing findings", "Generating report"];

/// The duration of a stage.
const STAGE: Duration = Duration::from_secs(1);

const DESCRIPTION: &str = "Simulates a deep research operation that gathers, analyzes, and synthesizes information. \
    Demonstrates MCP task-based operations with progress through multiple stages. If 'ambiguous' is true and client \
    supports elicitation, sends an elicitation request for clarification.";

pub(crate) fn register(server: Server<App>, tasks: Tasks) -> Server<App> {
    // Callers are not authenticated, so all of them may list the tasks.
    let tasks = tasks.list().max_ttl(Duration::from_secs(300)).poll_interval(Duration::from_secs(1));
    server.extension(tasks).tool(simulate_research_query)
}

/// Simulates research on a topic.
#[tool(
    name = "simulate-research-query",
    title = "Simulate Research Query",
    description = DESCRIPTION,
    destructive = false,
    open_world = false,
    task = required
)]
async fn simulate_research_query(
    /// The research topic to investigate
    topic: String,
    /// Simulate an ambiguous query that requires clarification (triggers input_required status)
    #[default(false)]
    ambiguous: bool,
    ctx: Ctx,
) -> String {
    let mut clarification = None;
    for (at, stage) in STAGES.into_iter().enumerate() {
        ctx.progress_with(at as f64, Some(STAGES.len() as f64), Some(format!("{stage}..."))).await;
        if at == 2 && ambiguous && ctx.can_elicit() {
            clarification = Some(clarify(&ctx, &topic).await);
        }
        tokio::time::sleep(STAGE).await;
    }
    report(&topic, clarification.as_deref())
}

/// Elicits the intended interpretation.
async fn clarify(ctx: &Ctx, topic: &str) -> String {
    let message = format!(
        "The research query \"{topic}\" could have multiple interpretations. Please clarify what you're looking for:"
    );
    let choice = EnumSchema::titled(interpretations(topic))
        .title("Clarification")
        .description("Which interpretation of the topic do you mean?");
    let form = ElicitSchema::new().required("interpretation", choice);
    match ctx.elicit_with("interpretation", ElicitParams::form(message, &form)).await {
        Err(_) => "technical (default - elicitation unavailable)".to_owned(),
        Ok(answer) => match answer.action {
            ElicitAction::Accept => {
                let chosen = answer.content.as_ref().and_then(|content| content.get("interpretation")?.parse().ok());
                chosen.unwrap_or_else(|| "User accepted without selection".to_owned())
            }
            ElicitAction::Decline => "User declined - using default interpretation".to_owned(),
            ElicitAction::Cancel => "User cancelled - using default interpretation".to_owned(),
        },
    }
}

fn interpretations(topic: &str) -> [(&'static str, &'static str); 3] {
    if topic.to_lowercase().contains("python") {
        return [
            ("programming", "Python programming language"),
            ("snake", "Python snake species"),
            ("comedy", "Monty Python comedy group"),
        ];
    }
    [
        ("technical", "Technical/scientific perspective"),
        ("historical", "Historical perspective"),
        ("current", "Current events/news perspective"),
    ]
}

fn report(topic: &str, clarification: Option<&str>) -> String {
    let title = clarification.map_or_else(|| topic.to_owned(), |meant| format!("{topic} ({meant})"));
    let meant = clarification.map(|meant| format!("- **Clarification**: {meant}\n")).unwrap_or_default();
    let stages: String =
        STAGES.iter().enumerate().map(|(at, stage)| format!("- Stage {}: {stage} ✓\n", at + 1)).collect();
    format!(
        "# Research Report: {title}\n\n## Research Parameters\n- **Topic**: {topic}\n{meant}\n## Synthesis\n\
         This research query was processed through {} stages:\n{stages}\n---\n\n\
         The call was answered at once with a task; this report was fetched as its result.\n\n\
         *This is a simulated research report from the Everything MCP Server.*\n",
        STAGES.len()
    )
}

//! Files in CMS's layouts with invented content: CMS's headings, and plans that do not exist.

/// The Landscape of Medicare Advantage from 2013 to 2023: a title, notes, and one row per plan and county, in
/// Windows-1252.
pub(super) fn landscape_2023(rows: &[&str]) -> Vec<u8> {
    let mut text = "2023 Medicare Advantage Plan Landscape of our own,,,,,,,,,,,,,,\r\n\
         \"Notes: Data are subject to change as contracts are finalized. Nothing is real, \u{96} nothing.\",,,,,,,,,,,,,,\r\n\
         ,,,,,,,,,,,,,,\r\n\
         State,County,Organization Name,Plan Name,Type of Medicare Health Plan,\
         \"Monthly Consolidated Premium\n(Includes Part C + D)*\",Annual Drug Deductible,Drug Benefit Type1,\
         Additional Coverage Offered in the Gap,Drug Benefit Type Detail,Contract ID,Plan ID,Segment ID,\
         In-network MOOP Amount,Overall Star Rating\r\n"
        .to_owned();
    for row in rows {
        text.push_str(row);
        text.push_str("\r\n");
    }
    text.push_str("* A footnote,,,,,,,,,,,,,,\r\n");
    windows_1252(&text)
}

/// The rows of states in the first half of the alphabet.
pub(super) const A_TO_M: [&str; 4] = [
    "Illinois,Cook,Ours Health,\"Caf\u{e9} Gold (HMO), the good one\",Local HMO,$25.50 ,$505 ,Enhanced,No,EA,H9001,1,0,\"$4,900 \",4",
    "Illinois,Will,Ours Health,\"Caf\u{e9} Gold (HMO), the good one\",Local HMO,$25.50 ,$505 ,Enhanced,No,EA,H9001,1,0,\"$4,900 \",4",
    "Illinois,Cook,Ours Health,Two Segments (PPO),Local PPO,$-   ,$505 ,Enhanced,No,EA,H9001,2,1,\"$4,900 \",4",
    "Illinois,Will,Ours Health,Two Segments (PPO),Local PPO,\"$1,010.00 \",$505 ,Enhanced,No,EA,H9001,2,2,\"$4,900 \",4",
];

/// The other rows, with a regional plan of all counties of Delaware.
pub(super) const N_TO_W: [&str; 4] = [
    "Delaware,Kent,Ours Health,Wide (PPO),Regional PPO,N/A,,,,,R9002,3,0,\"$6,700 \",",
    "Delaware,New Castle,Ours Health,Wide (PPO),Regional PPO,N/A,,,,,R9002,3,0,\"$6,700 \",",
    "Delaware,Sussex,Ours Health,Wide (PPO),Regional PPO,N/A,,,,,R9002,3,0,\"$6,700 \",",
    "Wyoming,Teton,,,,,,,,,,,,,",
];

/// The Landscape from 2025 on, of all plans, in UTF-8 with a byte order mark.
pub(super) fn landscape_2026(rows: &[&str]) -> Vec<u8> {
    let mut text =
        "\u{feff}\"Contract Year\",\"Contract Category Type\",\"US Territory\",\"State Territory Abbreviation\",\
         \"State Territory Name\",\"County Name\",\"Contract ID\",\"Plan ID\",\"Segment ID\",\"ContractPlanID\",\
         \"ContractPlanSegmentID\",\"Sanctioned Plan\",\"Parent Organization Name\",\"Contract Name\",\
         \"Organization Marketing Name\",\"Organization Type\",\"Plan Name\",\"Plan Type\",\"Part D Total Premium\",\
         \"Part C Premium\",\"Monthly Consolidated Premium (Part C + D)\"\r\n"
            .to_owned();
    for row in rows {
        text.push_str(row);
        text.push_str("\r\n");
    }
    text.into_bytes()
}

/// A Medicare Advantage plan in two counties, and a stand-alone Part D plan.
pub(super) const ROWS_2026: [&str; 3] = [
    "\"2026\",\"MA-PD\",\"No\",\"IL\",\"Illinois\",\"Cook\",\"H9001\",\"001\",\"0\",\"H9001_001\",\"H9001_001_0\",\"No\",\"Ours Inc.\",\
     \"OURS OF ILLINOIS, INC.\",\"Ours\",\"Local CCP\",\"Caf\u{e9} Gold (HMO)\",\"HMO\",\"$12.30 \",\"($2.30)\",\"$10.00 \"",
    "\"2026\",\"MA-PD\",\"No\",\"IL\",\"Illinois\",\"Do\u{f1}a\",\"H9001\",\"001\",\"0\",\"H9001_001\",\"H9001_001_0\",\"No\",\"Ours Inc.\",\
     \"OURS OF ILLINOIS, INC.\",\"Ours\",\"Local CCP\",\"Caf\u{e9} Gold (HMO)\",\"HMO\",\"$12.30 \",\"($2.30)\",\"$10.00 \"",
    "\"2026\",\"PDP\",\"No\",\"IL\",\"Illinois\",\"All Counties\",\"S9009\",\"001\",\"0\",\"S9009_001\",\"S9009_001_0\",\"No\",\"Ours Inc.\",\
     \"OURS RX\",\"Ours\",\"PDP\",\"Ours Rx (PDP)\",\"PDP\",\"$12.30 \",\"Not Applicable\",\"Not Applicable\"",
];

/// `CPSC_Contract_Info`: an individual plan, an employer plan, a stand-alone Part D plan, and a contract without plans.
pub(super) fn contracts() -> Vec<u8> {
    windows_1252(
        "Contract ID,Plan ID,Organization Type,Plan Type,Offers Part D,SNP Plan,EGHP,Organization Name,Organization Marketing Name,\
         Plan Name,Parent Organization,Contract Effective Date\r\n\
         H9001,1,Local CCP,HMO/HMOPOS,Yes,No,No,\"OURS OF ILLINOIS, INC.\",Ours,Caf\u{e9} Gold of Old,Ours Inc.,1/1/2006 0:00\r\n\
         H9001,801,Local CCP,HMO/HMOPOS,Yes,No,Yes,\"OURS OF ILLINOIS, INC.\",Ours,Works (HMO),Ours Inc.,1/1/2006 0:00\r\n\
         S9009,1,PDP,Medicare Prescription Drug Plan,Yes,No,No,OURS RX,Ours,Ours Rx (PDP),Ours Inc.,1/1/2006 0:00\r\n\
         E9003,,Employer/Union Only Direct Contract PFFS,Employer/Union Only Direct Contract PFFS,No,No,Yes,A UNION,A Union,,A Union,\
         1/1/2009 0:00\r\n",
    )
}

pub(super) const ENROLLMENT: &str = "Contract Number,Plan ID,SSA State County Code,FIPS State County Code,State,County,Enrollment\r\n\
     H9001,1,14141,17031,IL,Cook,123\r\nH9001,1,10020,12086,FL,Miami-Dade,*\r\n";

pub(super) const DIRECTORY: &str = "Legal Entity Name,Organization Marketing Name,Contract Number,Organization Type,Plan Type,\
     Contract Effective Date,Tax Status,Parent Organization,CMS Region Responsible,Enrollment,Legal Entity Street,Legal Entity Street2,\
     Legal Entity City,Legal Entity State Code,Legal Entity Zip,Directory Contact Title,Directory Contact Last Name,\
     Directory Contact First Name,Directory Contact Middle Initial,Directory Contact Phone,Directory Contact Phone Ext,\
     Directory Contact Fax,Directory Contact Email,Directory Contact Street Address,Directory Contact Street Address2,\
     Directory Contact City,Directory Contact State,Directory Contact Zip,Directory Contact Last Update\r\n\
     \"OURS OF ILLINOIS, INC.\",Ours,H9001,Local CCP,HMO/HMOPOS,1/1/2006 0:00,For Profit,Ours Inc.,Chicago,1234,1 First Street,,\
     Springfield,IL,62701,Director,Example,Ann,B,217-555-0100,7,,ann@ours.example,2 Second Street,Floor 3,Springfield,IL,62702,\
     2/1/2026 9:00\r\n";

pub(super) const SERVICE_AREA: &str = "Contract ID,Organization Name,Organization Type,Plan Type,Partial,EGHP,SSA,FIPS,County,State,Notes\r\n\
     H9001,\"OURS OF ILLINOIS, INC.\",Local CCP,HMO/HMOPOS,,,14141,17031,Cook,IL,\r\n\
     H9001,\"OURS OF ILLINOIS, INC.\",Local CCP,HMO/HMOPOS,*,,14989,17197,Will,IL,\r\n\
     H9001,\"OURS OF ILLINOIS, INC.\",Local CCP,HMO/HMOPOS,,*,10020,12086,Miami-Dade,FL,\r\n";

/// The Landscape of special needs plans until 2024.
pub(super) const SPECIAL_NEEDS: &str = "State,County,Organization Name,Plan Name,Type of Medicare Health Plan,\
     Monthly Consolidated Premium (Includes Part C + D),Annual Drug Deductible,Drug Benefit Type,\
     Additional Coverage Offered in the Gap,Drug Benefit Type Detail,Contract ID,Plan ID,Segment ID,Special Needs Plan Type,\
     Overall Star Rating\r\n\
     Illinois,All Counties,Ours Health,Special (HMO D-SNP),Local HMO,$0 ,$505 ,Enhanced,No,EA,H9001,9,0,Dual-Eligible,4\r\n";

/// The report of plans with Part D until 2024.
pub(super) const PART_D: &str = "2023 Report of our own\r\n\
     State,County,Organization Name,Plan Name,Contract ID,Plan ID,Segment ID,Organization Type,Plan Type,Special Needs Plan,\
     Special Needs Plan Type,Part C Premium2,Part D Basic Premium3,Part D Supplemental Premium4,Part D Total Premium5\r\n\
     Illinois,Cook,Ours Health,\"Caf\u{e9} Gold (HMO)\",H9001,1,0,Local CCP,HMO,No,,$5.50 ,$20.00 ,$0.00 ,$20.00 \r\n";

fn windows_1252(text: &str) -> Vec<u8> {
    text.chars().map(|c| u8::try_from(u32::from(c)).unwrap()).collect()
}
